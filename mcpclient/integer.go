package mcpclient

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// The integers that every reader of JSON keeps exact: -(2^53)+1 to 2^53-1.
const maxSafe = 1<<53 - 1

var (
	errFraction = errors.New("is not an integer")
	errUnsafe   = errors.New("is outside the integers that can be mirrored into a header, -9007199254740991 to 9007199254740991")
)

// decimal returns a JSON number as a plain decimal integer, so that 42.0 and
// 4.2e1 are 42. It works on the digits: no number passes through a float.
func decimal(number []byte) (string, error) {
	digits, negative := bytes.CutPrefix(number, []byte("-"))
	mantissa, power, _ := bytes.Cut(bytes.ToLower(digits), []byte("e"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	all := strings.TrimLeft(string(whole)+string(fraction), "0")
	if all == "" {
		return "0", nil
	}
	exponent := 0
	if len(power) > 0 {
		var err error
		if exponent, err = strconv.Atoi(string(power)); err != nil {
			// Too many digits for an int: far outside, one way or the other.
			if power[0] == '-' {
				return "", errFraction
			}
			return "", errUnsafe
		}
		exponent = min(max(exponent, -1<<30), 1<<30) // so that the sum below cannot overflow
	}
	// The value is all * 10^scale.
	kept := strings.TrimRight(all, "0")
	scale := exponent - len(fraction) + len(all) - len(kept)
	switch {
	case scale < 0:
		return "", errFraction
	case len(kept)+scale > 16:
		return "", errUnsafe
	}
	kept += strings.Repeat("0", scale)
	if n, err := strconv.ParseInt(kept, 10, 64); err != nil || n > maxSafe {
		return "", errUnsafe
	}
	if negative {
		kept = "-" + kept
	}
	return kept, nil
}
