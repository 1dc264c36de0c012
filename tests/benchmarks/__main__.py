"""`./syncova bench [NAME]`: lists the measurements, or runs one with the arguments that follow its name."""

import sys

from tests.benchmarks import api, control, engine

BENCHMARKS = {"engine": engine.main, "control": control.main, "api": api.main}


def main(words: list[str]) -> int:
    """Run one command line; 0 when it measured, 2 when the name is not known."""
    if words and words[0] in BENCHMARKS:
        return BENCHMARKS[words[0]](words[1:])
    for name, run in BENCHMARKS.items():
        sys.stdout.write(f"{name}: {(run.__doc__ or '').splitlines()[0]}\n")
    return 2 if words and words[0] not in ("-h", "--help") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
