"""The op row_dot, (n),(n)->()."""

from .row_dot import row_dot as row_dot
