"""Child processes that never outlive us."""

import ctypes
import signal
import subprocess

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


class Process:
    """One child in a session of its own, its output in a file.

    When this process dies, however it dies, the kernel sends `death_signal` to
    the child. Start children from the main thread only: the kernel means the
    death of the thread that forked.
    """

    def __init__(self, command, log_path, *, stdout=None, stderr=None, user=None,
                 env=None, cwd=None, death_signal=signal.SIGKILL):
        def follow_parent():
            _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal))

        as_user = {}
        if user is not None:
            as_user = {"user": user.pw_uid, "group": user.pw_gid,
                       "extra_groups": []}
        self.log_path = log_path
        with open(log_path, "ab") as log:
            self._child = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=log if stdout is None else stdout,
                stderr=log if stderr is None else stderr, env=env, cwd=cwd,
                start_new_session=True, preexec_fn=follow_parent, **as_user)

    @property
    def pid(self):
        return self._child.pid

    @property
    def stdout(self):
        return self._child.stdout

    def running(self):
        return self._child.poll() is None

    def exit_code(self):
        """The exit code, negative for a signal; None while it runs."""
        return self._child.poll()

    def send(self, number):
        """Sends a signal; nothing happens when the child has ended."""
        if self.running():
            self._child.send_signal(number)

    def wait(self, seconds):
        """Waits for the end and returns the exit code."""
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"{self._child.args[0]} (pid {self.pid}) still runs after "
                f"{seconds} s; its output ends:\n{self.log_tail()}") from None

    def end(self, number=signal.SIGTERM, seconds=10):
        """Ends it, by SIGKILL when `number` did not do it in time."""
        if not self.running():
            return
        self.send(signal.SIGCONT)
        self.send(number)
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def log(self):
        return self.log_path.read_text(errors="replace")

    def log_tail(self, lines=30):
        return "\n".join(self.log().splitlines()[-lines:])
