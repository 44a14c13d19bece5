package stdiomcp

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A job is a server in a job object of its own, which holds all that it starts. The
// system ends the job when its last handle is closed, so also when we are killed.
type job struct {
	cmd   *exec.Cmd
	ended chan struct{}
	how   string // set before ended is closed

	mu     sync.Mutex
	handle windows.Handle // guarded by mu; 0 when it is closed
}

// startDirect starts the process suspended, so that it can start nothing before it
// is in the job.
func startDirect(o *order) (child, error) {
	handle, err := newJob()
	if err != nil {
		return nil, err
	}
	j := &job{ended: make(chan struct{}), handle: handle, cmd: &exec.Cmd{
		Path: o.path, Args: o.args, Env: o.env, Dir: o.dir,
		Stdin: o.stdin, Stdout: o.stdout, Stderr: o.stderr,
		SysProcAttr: &syscall.SysProcAttr{
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
			HideWindow:    true,
		},
	}}
	if err := j.cmd.Start(); err != nil {
		windows.CloseHandle(handle)
		return nil, err
	}
	pid := uint32(j.cmd.Process.Pid)
	if err = assign(handle, pid); err == nil {
		err = resume(pid)
	}
	if err != nil {
		j.cmd.Process.Kill() // it may not be in the job
		j.cmd.Wait()
		windows.CloseHandle(handle)
		return nil, err
	}
	go j.wait()
	return j, nil
}

// newJob returns a job that ends with its last handle.
func newJob() (windows.Handle, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(handle)
		return 0, err
	}
	return handle, nil
}

func assign(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// resume lets the threads of a suspended process run. There is one; os/exec does not
// keep its handle.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return err
		}
		resumed = true
	}
	if !resumed {
		return windows.ERROR_INVALID_THREAD_ID
	}
	return nil
}

// wait reaps the process and ends what it has left behind.
func (j *job) wait() {
	j.cmd.Wait()
	j.how = exitStatus(j.cmd.ProcessState.ExitCode())
	j.mu.Lock()
	windows.CloseHandle(j.handle)
	j.handle = 0
	j.mu.Unlock()
	close(j.ended)
}

// terminate does nothing: there is no signal to ask with. Its stdin was closed.
func (j *job) terminate() {}

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		windows.TerminateJobObject(j.handle, 1)
	}
}

func (j *job) abandon() { j.kill() }

func (j *job) exited() <-chan struct{} { return j.ended }

func (j *job) gone() <-chan struct{} { return j.ended }

func (j *job) state() string { return j.how }
