# SPDX-License-Identifier: Apache-2.0
"""Runs the actions of an engine: bot.py ADDRESS FOLDER [--host-tools]

As many at a time as there are cores. Actions see no compiler and no Python of
the machine, unless --host-tools is given.
"""

from concurrent import futures
import os
import pathlib
import subprocess
import sys
import threading
import time

import blobs
from buildgrid._protos.build.bazel.remote.execution.v2 import (
    remote_execution_pb2 as reapi,
)
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import (
    bots_pb2_grpc,
)
from buildgrid._protos.google.rpc import code_pb2
import grpc
import worker

_UNLIMITED = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
)
# A call waits so long for an action; while one runs, calls are so far apart.
_WAIT, _BEAT = 20, 5


class _Bot:
  """Runs one action at a time."""

  def __init__(self, name, channel, store, work):
    self._stub = bots_pb2_grpc.BotsStub(channel)
    self._store = store
    self._worker = work
    self._new = bots_pb2.BotSession(bot_id=name, status=bots_pb2.OK)
    device = self._new.worker.devices.add(handle="cpu")
    device.properties.add(key="OSFamily", value="linux")

  def serve(self):
    """Goes on when the server is started again: with a session of its own."""
    while True:
      try:
        request = bots_pb2.CreateBotSessionRequest(bot_session=self._new)
        session = self._stub.CreateBotSession(request, timeout=_WAIT)
        while True:
          if session.leases:
            self._take(session)
          self._update(session)
      except grpc.RpcError as error:
        print(self._new.bot_id, error.details(), flush=True)
        time.sleep(1)

  def _update(self, session):
    request = bots_pb2.UpdateBotSessionRequest(
        name=session.name, bot_session=session
    )
    session.CopyFrom(self._stub.UpdateBotSession(request, timeout=_WAIT))

  def _take(self, session):
    """Runs the action of a session, and calls the server all the time."""
    with futures.ThreadPoolExecutor(1) as pool:
      done = pool.submit(self._run, session.leases[0].payload)
      while session.leases and session.leases[0].state != bots_pb2.COMPLETED:
        session.leases[0].state = bots_pb2.ACTIVE
        self._update(session)
        if futures.wait([done], _BEAT).done and session.leases:
          session.leases[0].MergeFrom(done.result())

  def _run(self, payload):
    """Returns what a lease says when it is over."""
    lease = bots_pb2.Lease(state=bots_pb2.COMPLETED)
    action, digest = reapi.Action(), reapi.Digest()
    try:
      if payload.Unpack(digest):
        action = self._store.message(digest, reapi.Action)
      else:
        payload.Unpack(action)
      result, late = self._worker.run(action)
      self._store.upload()
      lease.result.Pack(result)
      if late:
        lease.status.code = code_pb2.DEADLINE_EXCEEDED
    except Exception as error:  # It is the action's, not the bot's.
      lease.status.code = code_pb2.INTERNAL
      lease.status.message = repr(error)
    return lease


def main():
  address, folder = sys.argv[1], pathlib.Path(sys.argv[2])
  image = None if "--host-tools" in sys.argv else folder / "image"
  if image and not image.exists():
    subprocess.run([worker.SCRIPT, "image", image], check=True)
  channel = grpc.insecure_channel(address, _UNLIMITED)
  threads = []
  for core in os.sched_getaffinity(0):
    store = blobs.Blobs(folder / "blobs", channel)
    work = worker.Worker(store, folder, image)
    bot = _Bot(f"{folder}-{core}", channel, store, work)
    threads.append(threading.Thread(target=bot.serve))
    threads[-1].start()
  for thread in threads:
    thread.join()


if __name__ == "__main__":
  main()
