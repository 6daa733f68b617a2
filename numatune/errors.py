"""Every error that numatune raises on purpose, each class with the exit status it leads to."""


class NumatuneError(Exception):
    """Base of all errors meant for the user: one clear line that says what to do."""

    exit_status = 4


class UsageError(NumatuneError):
    """The command line, a request or a policy is wrong."""

    exit_status = 2


class MachineError(NumatuneError):
    """The machine could not be read well enough to judge it."""

    exit_status = 3


class OutputError(NumatuneError):
    """The output could not be written; what was there stays whole."""

    exit_status = 5


class LaunchRefused(NumatuneError):
    """The runtime itself would refuse this launch, or crash at it; the text says why.

    `rule` is the slug of the finding that names the same fact.
    """

    exit_status = 2

    def __init__(self, reason: str, rule: str = "no-workers", **numbers: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.rule = rule
        self.numbers = numbers
