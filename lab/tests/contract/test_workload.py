"""Workloads under the real k6: scripts of k6's own against two variants of a foreign service, and what takes a log of
every request or faults against a service in this process."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import foreign
from tests.support.experiments import stub_file
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.web_shop import WebShop, shops
from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.host import process_ledger, tools
from vtlab.host.process_ledger import Command
from vtlab.host.processes import Process
from vtlab.k6 import call as k6
from vtlab.model import experiment_files, normalised
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.planning.load_call import LoadCall
from vtlab.targets.local import workload

LAB = shipped.ROOT / "k6"
TRIALS = {"ORDER": "platform,virtual", "WARMUP_CYCLES": "0", "OWN_CYCLES": "0", "SINGLE": "0s"}


class Calls:
    """Calls of k6 for one experiment."""

    def __init__(self, folder: Path, described: Experiment, urls: Mapping[str, str]) -> None:
        self.folder = folder
        self.experiment = described
        self._work = folder / "k6"
        self._work.mkdir()
        plan = folder / "plan.json"
        plan.write_text(normalised.as_json(described), encoding="utf-8")
        self._tool = tools.find_k6()
        self.start = workload.prepare(described, self._tool.path, LAB, self._work)
        self._call = k6.Call(
            script=self.start.script,
            experiment=plan,
            targets=urls,
            variables={},
            run_id="r",
            block=1,
            document=self._work / "document.json",
            private=self.start.private,
        )
        self.log = ""

    def check(self) -> list[str]:
        """The pre-flight; what it says."""
        with process_ledger.open_exclusive(self.folder) as ledger:

            def run(call: k6.Call, variables: Mapping[str, str], seconds: float) -> Process:
                command = k6.command(self._tool.path, replace(call, variables=variables), push=False)
                process = ledger.start(Command(command, role="k6", log=self._work / "preflight.log", folder=self._work))
                workload.wait(process, seconds)
                return process

            checked = workload.check(self.experiment, self._call, run)
        self._call = replace(self._call, origin=checked.origin)
        return [*checked.remarks, *checked.differences]

    def trials(self, **variables: str) -> K6Document:
        """A trial of each variant."""
        call = replace(self._call, variables={**TRIALS, **variables})
        done = subprocess.run(
            k6.command(self._tool.path, call, push=False),
            capture_output=True,
            text=True,
            cwd=self._work,
            env=tools.clean_environment(**k6.ENVIRONMENT),
        )
        self.log = done.stdout + done.stderr
        assert done.returncode in k6.DONE, self.log
        return k6.read_document(call.document, self.log)


def longer_windows(folder: Path) -> Iterator[tuple[Path, str]]:
    """Windows for a test to repeat until each trial has its answers, each with an empty folder: a machine may stall for
    longer than the first."""
    for measure in ("2500ms", "10s", "40s"):
        work = folder / measure
        work.mkdir()
        yield work, measure


def urls(servers: Mapping[str, WebShop]) -> dict[str, str]:
    """Where each variant is."""
    return {name: shop.url for name, shop in servers.items()}


def described(folder: Path, what: dict[str, Any], users: int = 3, **changes: Any) -> Experiment:
    """An experiment with that workload, read from a file."""
    document = {
        "name": "own",
        "description": "A workload of a user's own.",
        "service": "sample",
        **what,
        "load": {"full": {"users": users}},
        "windows": {"ramp_up": "200ms", "measure": "1500ms"},
        # A machine may stall for longer than an answer takes.
        "max_response": "60s",
        "variants": ["platform", "virtual"],
        **changes,
    }
    path = folder / "own.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return experiment_files.load(str(path), folder)


def script(folder: Path, text: str, name: str = "load.js") -> dict[str, Any]:
    (folder / name).write_text(text, encoding="utf-8")
    return {"k6": name}


def shipped(folder: Path, name: str) -> dict[str, Any]:
    """A script of k6's Go module: a template of ``k6 new``, or an example."""
    tool = tools.find_k6()
    path = folder / "load.js"
    if name in ("minimal", "protocol"):
        subprocess.run([str(tool.path), "new", "--template", name, str(path)], check=True, capture_output=True)
        return {"k6": "load.js"}
    module = f"go.k6.io/k6@v{tool.version}"
    done = subprocess.run(["go", "mod", "download", "-json", module], check=True, capture_output=True, text=True)
    shutil.copyfile(Path(json.loads(done.stdout)["Dir"], "examples", f"{name}.js"), path)
    return {"k6": "load.js"}


OWN = """
import http, { post } from 'k6/http';
import exec, { scenario } from 'k6/execution';
import { check } from 'k6';
import { SharedArray } from 'k6/data';
import { double } from './lib/numbers.ts';

const BASE_URL = __ENV.BASE_URL || 'https://shop.example';
const names = new SharedArray('names', () => JSON.parse(open('./names.json')));
let calls = 0;

export const options = {
  maxRedirects: 1,
  throw: true,
  scenarios: {
    browse: { executor: 'constant-vus', exec: 'browse', vus: 2, duration: '10s' },
    buy: { executor: 'constant-vus', exec: 'buy', vus: 1, duration: '10s', env: { WHAT: 'pizza' } },
  },
  thresholds: {
    http_req_duration: ['p(95)<60000', { threshold: 'max<0', abortOnFail: true }],
    'checks{scenario:browse}': ['rate==1'],
  },
};

export function setup() {
  return http.get(`${BASE_URL}/setup`).json('variant');
}

export function browse(variant) {
  if (__ITER !== calls++) throw new Error(`__ITER is ${__ITER}, not ${calls - 1}`);
  const counters = [exec.vu.iterationInInstance, exec.vu.iterationInScenario];
  if (counters.some((n) => n !== __ITER)) throw new Error(`counters are ${counters}`);
  const landed = http.get(`${BASE_URL}/redirect?n=${double(scenario.iterationInTest)}`, { cookies: { of: 'browse' } });
  const jar = http.cookieJar();
  const before = Object.keys(jar.cookiesForURL(BASE_URL));
  jar.set(BASE_URL, 'visited', names[__ITER % names.length]);
  check(landed, {
    'landed after a redirect': (r) => r.status === 200 && r.url.endsWith('/landed'),
    'of its own variant': (r) => r.json('variant') === variant,
    'a fresh jar': () => before.length === 0,
    'its scenario': () => exec.scenario.name === 'browse',
  });
}

export async function buy(variant) {
  const answer = await http.asyncRequest('POST', `${BASE_URL}/buy/${__ENV.WHAT}`, '{}');
  check(answer, { bought: (r) => r.json('variant') === variant });
  post(`${BASE_URL}/paid/${exec.scenario.name}`);
}

export function teardown(variant) {
  http.get(`${BASE_URL}/teardown/${variant}`);
}
"""


def own_script(folder: Path) -> dict[str, Any]:
    (folder / "lib").mkdir()
    (folder / "lib" / "numbers.ts").write_text(
        "export const double = (n: number): number => 2 * n;\n", encoding="utf-8"
    )
    (folder / "names.json").write_text('["anna", "ben"]', encoding="utf-8")
    return script(folder, OWN)


def test_a_users_script_behaves_as_under_k6_run(tmp_path: Path) -> None:
    """A user's k6 script, imported once for each variant, has its options, counters, cookie jars, functions and setup
    as under k6 run, and asks its own variant only."""
    for folder, measure in longer_windows(tmp_path):
        with shops() as servers:
            windows = {"ramp_up": "200ms", "measure": measure}
            calls = Calls(folder, described(folder, own_script(folder), users=6, windows=windows), urls(servers))
            assert calls.check() == []
            document = calls.trials()
        if all(trial.ok for trial in document.trials):
            break
    assert "Error" not in calls.log
    for trial in document.trials:
        assert trial.failed == {}
        assert trial.ok > 0
        assert trial.checks is not None
        assert trial.requests is not None
        assert (trial.checks.failed, trial.requests.failed) == (0, 0)
        assert trial.checks.passed > trial.ok
    assert document.thresholds == {
        name: {
            "http_req_duration": {"p(95)<60000": True, "max<0": False},
            "checks{scenario:browse}": {"rate==1": True},
        }
        for name in servers
    }
    for name, shop in servers.items():
        paths = [path for _, path, _ in shop.log]
        # Of the pre-flight, its proof and the run: one each.
        assert paths.count("/setup") == paths.count(f"/teardown/{name}") == 3
        landed = [cookies for _, path, cookies in shop.log if path == "/landed"]
        assert landed
        assert all("visited" not in cookies for cookies in landed)
        assert paths.count("/buy/pizza") == paths.count("/paid/buy")
        # Numbers of iterations are unique within a call of k6.
        numbers = [path for path in paths if path.startswith("/redirect")][2:]
        assert len(set(numbers)) == len(numbers)
        # Two users of three browse; a browsing iteration sends as many requests as a buying one.
        assert 1.2 * paths.count("/buy/pizza") < len(landed)


@pytest.fixture(scope="module")
def kiosks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where both variants are of a service that knows nothing of vtlab."""
    folder = tmp_path_factory.mktemp("kiosks")
    planned = foreign.kiosk(folder)
    with RunFolder(folder, planned).target() as target:
        # Control groups have a block's number in their names, and other tests of this process have block 1.
        yield {variant.variant: variant.url for variant in target.start(planned, 90, 1).variants}


@needs_root
@pytest.mark.parametrize("name", ["minimal", "protocol", "cookies", "http_batch", "thresholds", "own"])
def test_scripts_run_unchanged_against_a_foreign_service(name: str, kiosks: dict[str, str], tmp_path: Path) -> None:
    """The scripts that k6 ships run unchanged against two variants of a foreign service, also those with a fixed
    address. So does one that uses counters, redirects, shared data and scenarios."""
    for folder, measure in longer_windows(tmp_path):
        what = own_script(folder) if name == "own" else shipped(folder, name)
        windows = {"ramp_up": "200ms", "measure": measure}
        calls = Calls(folder, described(folder, what, windows=windows), kiosks)
        before = {variant: requests_of(url) for variant, url in kiosks.items()}
        remarks = calls.check()
        document = calls.trials()
        if all(trial.ok for trial in document.trials):
            break
    has_fixed_address = name not in ("protocol", "own")
    assert any("vtlab replaces it with that of each variant" in remark for remark in remarks) == has_fixed_address
    assert not any("checks fail" in remark for remark in remarks), remarks
    for trial in document.trials:
        assert trial.ok > 0
        assert trial.failed == {}
        assert trial.checks is not None
        assert trial.requests is not None
        assert (trial.checks.failed, trial.requests.failed) == (0, 0), calls.log
        assert trial.requests.passed >= trial.ok
        assert (trial.checks.passed > 0) == (name != "thresholds")
    # Whether it meets those of its response times is for the machine to say.
    wanted = {
        "protocol": {"http_req_failed", "http_req_duration"},
        "thresholds": {"http_req_duration", "http_req_duration{name:http://httpbin.org/post}"},
        "own": {"http_req_duration", "checks{scenario:browse}"},
    }.get(name, set())
    assert {variant: set(met) for variant, met in document.thresholds.items()} == dict.fromkeys(kiosks, wanted)
    for trial in document.trials:
        assert trial.requests is not None
        came = requests_of(kiosks[trial.variant]) - before[trial.variant]
        assert came >= trial.requests.passed, "they came to this variant"


def requests_of(url: str) -> int:
    """How many a kiosk has got."""
    with urllib.request.urlopen(f"{url}/requests", timeout=30) as answer:
        return int(answer.read())


def test_a_script_that_wants_no_setup_has_none(tmp_path: Path) -> None:
    """Options of a script hold for its own setup and teardown, not for those of the lab."""
    text = """
import http from 'k6/http';
export const options = { noSetup: true, noTeardown: true };
export function setup() { throw new Error('setup was called'); }
export function teardown() { throw new Error('teardown was called'); }
export default function () { http.get(`${__ENV.BASE_URL}/`); }
"""
    for folder, measure in longer_windows(tmp_path):
        with shops() as servers:
            windows = {"ramp_up": "200ms", "measure": measure}
            calls = Calls(folder, described(folder, script(folder, text), windows=windows), urls(servers))
            assert calls.check() == []
            document = calls.trials()
        if all(trial.ok for trial in document.trials):
            break
    assert "was called" not in calls.log
    assert all(trial.ok > 0 for trial in document.trials)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import kafka from 'k6/x/kafka';\nexport default function () {}", "uses k6/x/kafka: an extension"),
        ("import { browser } from 'k6/browser';\nexport default function () {}", "uses k6/browser"),
        ("import { WebSocket } from 'k6/websockets';\nexport default () => {}", "its iterations end by events"),
        ("export default function () {", "k6 cannot read"),
        ("import x from './gone.js';\nexport default function () {}", "k6 cannot read .*gone"),
        ("export const x = 1;", "k6 cannot read"),
    ],
)
def test_a_script_that_cannot_be_kept_is_refused_before_the_run(tmp_path: Path, text: str, message: str) -> None:
    """A script that k6 cannot read, or that uses an extension or a browser, is refused with what it is."""
    with pytest.raises(BadInput, match=message):
        Calls(tmp_path, described(tmp_path, script(tmp_path, text)), {})


GET = "import http from 'k6/http';\nexport default function () { %s }"
ABORTING = """
import exec from 'k6/execution';
export function setup() { exec.test.abort('the shop is closed'); }
export default function () {}
"""
MIXED = """
const scenarios = { a: { executor: 'constant-vus', vus: 1, duration: '1s' } };
scenarios.b = { executor: 'constant-arrival-rate', rate: 1, duration: '1s', preAllocatedVUs: 1 };
export const options = { scenarios };
export default function () {}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GET % "throw new Error('no luck');", "the script throws: Error: no luck"),
        (ABORTING, "k6 cannot run the workload: .*the shop is closed"),
        (MIXED, "k6 cannot run the workload: .*options.scenarios: b has a rate and others have VUs"),
        (
            GET % "http.get('http://a.example/'); http.get('http://b.example/');",
            "the script calls http://a.example, http://b.example and never __ENV.BASE_URL",
        ),
        (
            GET % "http.get('http://127.0.0.1:1/'); http.get(`${__ENV.BASE_URL}/unanswered`);",
            "answered no request of the script",
        ),
    ],
)
def test_a_script_that_does_not_ask_its_variant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The pre-flight refuses a script that throws, or whose requests do not come to the variant."""
    with shops() as servers:
        calls = Calls(tmp_path, described(tmp_path, script(tmp_path, text)), urls(servers))
        with pytest.raises(BadInput, match=message):
            calls.check()
    # Nothing went to another variant meanwhile.
    assert all(len(shop.log) <= 4 for shop in servers.values())


def test_failed_checks_of_one_variant_are_counted_for_it(tmp_path: Path) -> None:
    """Checks and requests that fail, and iterations that throw, count for their variant."""
    body = "check(http.get(`${__ENV.BASE_URL}/a`), { ok: (r) => r.status === 200 }); if (__ITER === 2) throw 'odd';"
    text = "import { check } from 'k6';\n" + GET % body
    for folder, measure in longer_windows(tmp_path):
        with shops({"virtual": ["/a"]}) as servers:
            windows = {"ramp_up": "200ms", "measure": measure}
            calls = Calls(folder, described(folder, script(folder, text), windows=windows), urls(servers))
            assert calls.check() == ["1 of the script's 1 checks fail for virtual"]
            platform, virtual = calls.trials().trials
        thrown = [trial.failed.get("exception", 0) + trial.failed_outside for trial in (platform, virtual)]
        # Fewer: not each user came to its third iteration.
        if max(thrown) > 3 or thrown == [3, 3]:
            break
    assert platform.checks is not None
    assert virtual.checks is not None
    assert virtual.requests is not None
    assert (platform.checks.failed, virtual.checks.passed) == (0, 0)
    assert virtual.checks.failed == virtual.requests.failed > 0
    assert thrown == [3, 3]


@pytest.mark.parametrize(
    ("failing", "requests", "expected"),
    [
        ({}, ["GET /a", {"GET": "/b", "expect": {"json": {"$.variant": "exists"}}}], []),
        ({"virtual": ["/a"]}, ["GET /a", "GET /b"], ["virtual answered 500 to GET /a"]),
    ],
)
def test_the_answers_of_the_variants_are_compared(
    tmp_path: Path, failing: dict[str, list[str]], requests: list[Any], expected: list[str]
) -> None:
    """Each request is sent once to each variant before a run, and all are sent again where answers differ; vtlab names
    an answer that only one gives both times."""
    with shops(failing) as servers:
        assert Calls(tmp_path, described(tmp_path, {"requests": requests}), urls(servers)).check() == expected
        assert [len(shop.log) for shop in servers.values()] == ([4, 4] if expected else [2, 2])


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("GET /a", "GET /a: every variant answered 500"),
        ("GET /redirect", "GET /redirect: every variant answered 302"),
        (
            {"GET": "/b", "expect": {"json": {"$.id": "exists"}}},
            "answered 200 without the JSON that expect.json requires",
        ),
    ],
)
def test_a_request_that_no_variant_answers_is_refused(tmp_path: Path, request_: Any, message: str) -> None:
    """A request that every variant fails is refused before the run, with its status."""
    both = {"platform": ["/a"], "virtual": ["/a"]}
    with shops(both) as servers:
        calls = Calls(tmp_path, described(tmp_path, {"requests": [request_]}), urls(servers))
        with pytest.raises(BadInput, match=message):
            calls.check()


def test_variables_of_the_environment_come_to_a_script_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script reads the variables that it names, as under k6 run, and no command line has their values."""
    monkeypatch.setenv("SHOP_TOKEN", "a-secret-word")
    text = GET % "http.get(`${__ENV.BASE_URL}/${__ENV.SHOP_TOKEN}`);"
    with shops() as servers:
        calls = Calls(tmp_path, described(tmp_path, script(tmp_path, text)), urls(servers))
        assert calls.start.private is not None
        assert calls.start.private.stat().st_mode & 0o077 == 0
        assert calls.check() == []
        calls.trials()
        asked = {path for shop in servers.values() for _, path, _ in shop.log}
        assert asked == {"/a-secret-word", "/actuator/health/liveness"}
    assert "secret" not in calls.log + (tmp_path / "k6" / "document.json").read_text(encoding="utf-8")


def with_secrets(folder: Path, measure: str) -> RunFolder:
    """The folder of a run whose users have passwords."""
    (folder / "users.csv").write_text("user,password\nanna,a-secret-word\nben,a-secret-word\n", encoding="utf-8")
    requests = [{"GET": "/thread?duration=20ms&user={user}"}, {"GET": "/thread?duration=10ms", "weight": 3}]
    what = {"requests": requests, "data": str(folder / "users.csv"), "max_response": "60s"}
    path = stub_file(folder, **what, windows={"measure": measure, "warmup_load": "200ms"})
    return RunFolder(folder, experiment_files.load(str(path), folder))


@needs_root
def test_a_run_has_one_pre_flight_and_leaves_no_secrets(tmp_path: Path) -> None:
    """On this machine a run has a pre-flight before its first block alone, and leaves nothing of what k6 alone read."""
    for folder, measure in longer_windows(tmp_path):
        run = with_secrets(folder, measure)
        said: list[str] = []
        with run.target(say=said.append, with_preflight=True) as target:
            block = target.start(run.planned, 1, 1)
            document = block.load(LoadCall(trial_order=("platform", "virtual")))
            private = run.folder / "k6" / "private.json"
            assert private.stat().st_mode & 0o077 == 0
            target.start(run.planned, 2, 1)
            assert [path.name for path in (run.folder / "logs").glob("*preflight*")] == ["1-1-preflight-k6.log"]
        if all(trial.ok for trial in document.trials):
            break
    assert said == []
    assert [trial.failed for trial in document.trials] == [{}, {}]
    assert all(trial.ok for trial in document.trials)
    assert not private.exists()
    kept = [file.read_text(encoding="utf-8") for file in run.folder.rglob("*") if file.is_file()]
    assert kept
    assert not any("secret" in text for text in kept)


@needs_root
def test_a_variant_that_ends_with_the_first_requests_has_failed_and_the_other_is_measured(tmp_path: Path) -> None:
    """On this machine a variant that ends in the pre-flight fails, with its exit code; the other is checked without it,
    and measured."""
    dying = {"virtual": {"threads": "virtual", "settings": {"STUB_DIE_AFTER": "1"}}}
    what = {"requests": ["GET /thread?duration=20ms"], "max_response": "60s"}
    windows = {"measure": "1s", "warmup_load": "200ms"}
    path = stub_file(tmp_path, **what, windows=windows, properties=dying)
    run = RunFolder(tmp_path, experiment_files.load(str(path), tmp_path))
    with run.target(with_preflight=True) as target:
        block = target.start(run.planned, 1, 1)
        (failure,) = block.failures
        assert (failure.variant, failure.moment) == ("virtual", "in the pre-flight")
        assert failure.reason == "it ended with exit code 9 when it got the first requests"
        assert [instance.variant for instance in block.check_instances()] == ["platform"]
        assert block.preflight_seconds > 0
        document = block.load(LoadCall(trial_order=("platform",)))
        assert [(trial.variant, trial.failed) for trial in document.trials] == [("platform", {})]
