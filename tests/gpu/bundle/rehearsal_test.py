# SPDX-License-Identifier: Apache-2.0
"""`run.py all` with planted faults: a crash, a hang, no memory, interruptions.

The jobs are small processes without JAX.
"""

import math
import pathlib
import sys
import textwrap

from absl.testing import absltest
import plan
import table

import goals
from jobs import Job
import phases
from phases import Phase
from phases import Results

_TEST = "[       OK ] Test.test_it\n"


def _judge(log, how):
  return {"status": "failed" if how else "passed", "note": how or log.strip()}


def _python(program, seconds=30, judge=_judge, parts=("part",)):
  command = [sys.executable, "-c", textwrap.dedent(program)]
  return Job(tuple(parts), lambda left: [*command, *left], seconds, judge)


# Has a result for each part, but what the part says happens first.
_LINES = """
  import json, os, sys, time
  for part in sys.argv[1:]:
    print("doing", part, flush=True)
    if "crash" in part: os.abort()
    if "hang" in part: time.sleep(1000)
    if "silent" in part: sys.exit()
    status = "failed" if "leave" in part else "passed"
    with open(os.environ["JOB_REPORT"], "a") as file:
      print(json.dumps({"status": status, "note": str(os.getpid())}), file=file)
    if "leave" in part: sys.exit()
"""


class RehearsalTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def run_phases(self, *planned, seconds=math.inf, call_seconds=math.inf):
    """Runs what is left; keeps whether all is done, and the results."""
    self.results = Results(self.folder / "results.jsonl")
    self.told = []
    done = phases.run(
        planned,
        self.results,
        seconds=seconds,
        call_seconds=call_seconds,
        folder=self.folder,
        tell=lambda part, result: self.told.append(part),
    )
    # What a later call would read.
    again = Results(self.folder / "results.jsonl")
    self.assertEqual(again.of, self.results.of)
    return done

  def run_jobs(self, *jobs, **options):
    return self.run_phases(Phase("phase", math.inf, 2, jobs), **options)

  def noted(self):
    return {
        part: (result["status"], result["note"])
        for part, result in self.results.of.items()
    }

  def test_jobs_outlive_one_another(self):
    self.run_jobs(
        _python("import os; os.abort()", parts=["crash"]),
        _python("import time; time.sleep(1000)", 3, parts=["hang"]),
        _python("import sys; sys.exit(3)", parts=["exit"]),
        _python("print('well')", parts=["well"]),
    )
    self.assertEqual(
        self.noted(),
        {
            "crash": ("failed", "ended by SIGABRT"),
            "hang": ("failed", "more than 3 s"),
            "exit": ("failed", "exit status 3"),
            "well": ("passed", "well"),
        },
    )

  def test_a_hang_says_where(self):
    program = "import time\ndef f():\n time.sleep(1000)\nf()"
    self.run_jobs(
        Job(
            ("hang",),
            lambda _: [sys.executable, "-c", program],
            5,  # On a busy machine, Python takes a second to start.
            lambda log, how: {"status": "failed", "note": log},
            env={"PYTHONFAULTHANDLER": "1"},
        )
    )
    self.assertIn("in f\n", self.results.of["hang"]["note"])

  def test_what_a_job_starts_ends_with_it(self):
    marker = self.folder / "marker"
    child = f"import time; time.sleep(2); open({str(marker)!r}, 'w')"
    self.run_jobs(
        _python(
            f"""
            import subprocess, sys, time
            subprocess.Popen([sys.executable, "-c", {child!r}])
            time.sleep(1000)
            """,
            1,
        )
    )
    self.run_jobs(_python("import time; time.sleep(2)", parts=["later"]))
    self.assertFalse(marker.exists())

  def test_parts_outlive_one_another(self):
    parts = ["a", "crash", "b", "hang", "c", "d", "leave", "e", "silent", "f"]
    self.run_jobs(_python(_LINES, 3, parts=parts))
    noted = self.noted()
    self.assertEqual(list(noted), parts)
    self.assertEqual(noted.pop("crash"), ("failed", "ended by SIGABRT"))
    self.assertEqual(noted.pop("hang"), ("failed", "more than 3 s"))
    self.assertEqual(noted.pop("silent"), ("passed", "doing silent"))
    self.assertEqual(noted["leave"][0], "failed")
    # A process is used as long as that is possible.
    processes = [note for _, note in noted.values()]
    self.assertEqual(processes[2:5], processes[2:3] * 3)
    self.assertLen(set(processes), 5)

  def test_a_process_that_does_not_end(self):
    """Nothing is waited for when all results are there."""
    program = _LINES + "\n  time.sleep(1000)"
    self.run_jobs(_python(program, 1000, parts=["a", "b"]))
    self.assertEqual(list(self.noted()), ["a", "b"])

  def test_lack_of_memory_is_tried_again_alone(self):
    """That of XLA, of Python, and what the kernel ends for it."""
    faults = {
        "device": "sys.exit('RESOURCE_EXHAUSTED: Out of memory')",
        "host": "[0] * (1 << 61)",
        "kernel": "os.kill(os.getpid(), 9)",
    }
    first = "if not os.path.exists({0!r}): open({0!r}, 'w'); {1}"
    jobs = {
        name: _python(
            "import os, sys\n"
            + first.format(str(self.folder / name), fault)
            + f"\nprint({_TEST!r})",
            judge=plan.judge_test,
            parts=[name],
        )
        for name, fault in faults.items()
    }
    self.run_phases(
        Phase("tests", math.inf, 3, list(jobs.values()), jobs.__getitem__)
    )
    self.assertLen(self.told, 6)
    for name in faults:
      status, note = self.noted()[name]
      self.assertEqual(status, "passed", note)
      self.assertStartsWith(note, "1 passed, 0 failed (at first: 0 passed, 1")

  def test_interrupted(self):
    """Each call goes on where the last one stopped, also within a job."""

    def slow(parts):
      return _python(
          _LINES.replace("print(", "time.sleep(0.7); print(", 1), parts=parts
      )

    planned = [
        Phase("lines", math.inf, 1, [slow([f"line{i}" for i in range(5)])]),
        Phase("jobs", math.inf, 2, [slow([f"job{i}"]) for i in range(4)]),
    ]
    told, calls = [], 0
    done = False
    while not done:
      done = self.run_phases(*planned, call_seconds=3)
      told += self.told
      calls += 1
      self.assertLess(calls, 20)
    self.assertGreater(calls, 1)
    self.assertEqual(
        sorted(told), sorted(p for x in planned for p in x.parts())
    )

  def test_time_is_shared(self):
    """A phase that takes too long is left, and finished at the end."""
    lines = [f"line{i}" for i in range(4)]
    slow = _python(
        _LINES.replace("print(", "time.sleep(0.5); print(", 1), parts=lines
    )
    planned = [
        Phase("long", 1, 1, [slow]),
        Phase("short", 1, 1, [_python("", parts=["short"])]),
    ]
    self.assertTrue(self.run_phases(*planned))
    self.assertCountEqual(self.told, [*lines, "short"])
    self.assertLess(self.told.index("short"), 3)

  def test_time_is_at_an_end(self):
    hang = _python("import time; time.sleep(1000)", parts=["hang"])
    self.assertFalse(self.run_jobs(hang, seconds=1, call_seconds=0.5))
    self.assertTrue(self.run_jobs(hang, seconds=1))
    self.assertEqual(self.results.of, {})
    row, *_ = table.rows([Phase("phase", 1, 1, [hang])], self.results)
    self.assertEqual(row.verdict, "open")

  def test_what_tells_most_is_first(self):
    """In two minutes of ten, the doctor and a quick test of each handler."""
    files = [f"tests/ops/{op}/{op}_test.py" for op in ("one", "other", "none")]
    doctor, quick, *rest = plan.all_phases(
        files,
        ["one", "other"],
        has_gpu=True,
        shards=None,
        workers=2,
        minutes=10,
    )
    self.assertLessEqual(doctor.seconds + quick.seconds, 120)
    self.assertEqual(
        list(quick.parts()), [f"{file} quickly" for file in files[:2]]
    )
    for job, file in zip(quick.jobs, files):
      self.assertEqual(job.command(()), [sys.executable, file])
      self.assertIn("every_dtype", job.env["TESTBRIDGE_TEST_ONLY"])
    lines = next(rest[0].parts())
    self.assertEqual(lines, "one/8192x4096/bfloat16/forward")
    seconds = sum(phase.seconds for phase in rest)
    self.assertAlmostEqual(seconds, 8 * 60)

  def test_recurrences_are_timed_first(self):
    for has_gpu in (False, True):
      with self.subTest(has_gpu=has_gpu):
        lines = goals.headlines(["one", "linear_recurrence"], has_gpu)
        names = [line.split("/")[0] for line in lines]
        count = names.count("linear_recurrence")
        self.assertEqual(count, 8 if has_gpu else 2)
        self.assertEqual(set(names[:count]), {"linear_recurrence"})
        self.assertEqual(set(names[count:]), {"one"})
    forward, both = lines[:2]
    self.assertEqual(forward, "linear_recurrence/8x2048x512/float32/forward")
    texts = [g.text for g in goals.GOALS if g.concerns(goals.Line(both, {}))]
    self.assertIn("linear_recurrence, both", " ".join(texts))

  def test_goals(self):
    """One that is met, one that is missed, one that was not measured."""
    results = Results(self.folder / "results.jsonl")

    def write(name, share, microseconds, peer):
      results.write(
          "benchmark",
          part=name,
          status="passed",
          share=share,
          seconds=1e-6 * microseconds,
          peers={"jax.numpy": 2.5, "torch": peer},
      )

    write("rms_norm/8192x4096/bfloat16/forward", 0.96, 50, 1.1)
    write("layer_norm/8192x4096/bfloat16/forward", 0.94, 50, 0.99)
    write("rms_norm/128x512/bfloat16/forward", 0.1, 2.9, 0.97)
    results.write(
        "benchmark", part="rms_norm/8x4/float32/both", status="failed"
    )
    parts = [*results.of, "softmax/8192x4096/bfloat16/forward"]
    job = _python("", parts=parts)
    rows = table.rows([Phase("benchmark", 1, 1, [job])], results)
    verdicts = {row.what: (row.verdict, row.text) for row in rows}
    texts = [goal.text for goal in goals.GOALS if "rec" not in goal.text]
    self.assertEqual(list(verdicts), ["benchmark", *texts[:1], *texts[2:]])
    share, twice, peers, small = (verdicts[x] for x in texts[:1] + texts[2:])
    self.assertEqual(
        share,
        (
            "FAIL",
            "1 of 2 lines; worst 0.94, layer_norm/8192x4096/bfloat16/forward",
        ),
    )
    self.assertEqual(twice, ("open", "0 of 1 lines, 1 without a value"))
    self.assertEqual(
        peers,
        (
            "FAIL",
            "2 of 5 lines, 2 without a value; worst 0.97,"
            " rms_norm/128x512/bfloat16/forward",
        ),
    )
    self.assertEqual(small[0], "open")  # 8x4 is small, too.
    self.assertIn("1 of 2 lines, 1 without a value; worst 1.03", small[1])


if __name__ == "__main__":
  absltest.main()
