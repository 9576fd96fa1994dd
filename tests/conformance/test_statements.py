"""Every statement on this package, and on torch and tensorplay where these are installed."""

import importlib.util
from collections.abc import Iterator

import pytest

from tensorplay_ref.conformance import (
    RECORDED_VERSIONS,
    REFERENCE,
    Api,
    Isolated,
    judge,
    recorded_version,
    run,
    suite,
)

STATEMENTS = suite()


@pytest.fixture(scope="session")
def reference() -> Api:
    return Api(REFERENCE)


@pytest.mark.parametrize("name", STATEMENTS)
def test_tensorplay_ref(name: str, reference: Api) -> None:
    statement = STATEMENTS[name]
    verdict = judge(statement, REFERENCE, run(statement, reference))
    assert verdict.judgement == "agreed", f"{statement.sentence} {verdict.line}"


class Installed:
    """The real implementations, each started when its first statement is run."""

    def __init__(self) -> None:
        self.started: dict[str, Isolated] = {}

    def __getitem__(self, implementation: str) -> Isolated:
        if implementation not in self.started:
            self.started[implementation] = Isolated(implementation)
        isolated = self.started[implementation]
        if not recorded_version(implementation, isolated.version):
            recorded = RECORDED_VERSIONS[implementation]
            pytest.skip(f"{implementation} {isolated.version}: the records are for {recorded}")
        return isolated


@pytest.fixture(scope="session")
def installed() -> Iterator[Installed]:
    real = Installed()
    yield real
    for isolated in real.started.values():
        isolated.close()


def _real_implementations() -> list[object]:
    parameters: list[object] = []
    for implementation in RECORDED_VERSIONS:
        if importlib.util.find_spec(implementation) is None:
            skip = pytest.mark.skip(reason=f"{implementation} is not installed")
            parameters.append(pytest.param(implementation, "", marks=skip, id=implementation))
        else:
            parameters += [
                pytest.param(implementation, name, id=f"{implementation}-{name}")
                for name in STATEMENTS
            ]
    return parameters


@pytest.mark.parametrize(("implementation", "name"), _real_implementations())
def test_real_implementation(implementation: str, name: str, installed: Installed) -> None:
    statement = STATEMENTS[name]
    verdict = judge(statement, implementation, installed[implementation].run(statement))
    if verdict.judgement == "differs":
        pytest.xfail(verdict.line)
    if verdict.judgement == "not offered":
        pytest.skip(f"{implementation} does not offer {verdict.line}")
    assert verdict.judgement == "agreed", f"{statement.sentence} {verdict.line}"
