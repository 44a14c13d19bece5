package bridge

import (
	"os"

	"github.com/toolhost/toolhost/mcpclient"
)

// Vars returns what placeholders in entries stand for: the variables of env, nil for
// os.LookupEnv, and the directory of home, nil for os.UserHomeDir. Without a home,
// ${userHome} refuses the entry that uses it.
func Vars(env func(name string) (string, bool), home func() (string, error)) mcpclient.Vars {
	if env == nil {
		env = os.LookupEnv
	}
	if home == nil {
		home = os.UserHomeDir
	}
	dir, err := home()
	if err != nil {
		dir = ""
	}
	return mcpclient.Vars{Env: env, Home: dir}
}
