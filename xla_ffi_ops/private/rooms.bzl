# SPDX-License-Identifier: Apache-2.0
"""The rooms of the C++: which may include which. //tests:rooms_test reads this table, too."""

# What a room may include besides itself. xla_ffi_ops/ops may include all of them.
ROOMS = {
    "vec": [],
    "threads": ["vec"],
    "handler": ["vec", "threads"],
    "cuda": ["vec"],
    "rows": ["vec", "threads", "handler", "cuda"],
    "scans": ["vec", "threads", "handler", "cuda"],
    "sorting": ["vec", "threads", "handler"],
    "linalg": ["vec", "threads", "handler"],
    "random": ["vec", "threads", "handler"],
    "loops": ["vec", "threads", "handler", "linalg"],
}

def above(room):
    """The visibility of a room: the rooms that may include it, the ops, the public face, tests.

    Args:
      room: its name, a key of ROOMS.
    """
    rooms = [name for name, below in ROOMS.items() if room in below] + ["ops"]
    return ["//xla_ffi_ops:__pkg__", "//tests:__subpackages__"] + [
        "//xla_ffi_ops/{}:__subpackages__".format(name)
        for name in rooms
    ]

def room_sources(name):
    """A filegroup of a room's C++: for docs and their tests, and for //tests:rooms_test.

    Args:
      name: of the filegroup.
    """
    native.filegroup(
        name = name,
        srcs = native.glob(
            [
                "**/*.cc",
                "**/*.cuh",
                "**/*.h",
            ],
            allow_empty = True,
        ),
        visibility = [
            "//docs:__pkg__",
            "//tests:__pkg__",
        ],
    )
