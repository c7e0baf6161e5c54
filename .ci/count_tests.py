# SPDX-License-Identifier: Apache-2.0
"""Counts test cases in the test XML of Bazel runs: "N passed, N failed".

  count_tests.py BUILD_EVENT_JSON_FILE ...

Exit status 1 if a test failed, or if there was none.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def _results(path):
  with open(path, encoding="utf-8") as events:
    for event in map(json.loads, events):
      if "testResult" in event:
        yield event["testResult"]


def _count(result):
  """Returns how many cases of one test run (or shard) passed and failed."""
  passed = failed = 0
  for output in result.get("testActionOutput", []):
    if output["name"] == "test.xml":
      path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
      for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is None and case.find("error") is None:
          passed += 1
        else:
          failed += 1
  if result["status"] != "PASSED" and not failed:
    failed = 1  # It crashed or ran out of time.
  return passed, failed


def main():
  passed = failed = 0
  for path in sys.argv[1:]:
    for result in _results(path):
      counts = _count(result)
      passed += counts[0]
      failed += counts[1]
  print(f"{passed} passed, {failed} failed")
  sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
  main()
