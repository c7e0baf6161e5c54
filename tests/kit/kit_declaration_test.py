# SPDX-License-Identifier: Apache-2.0
"""Declarations with a fault: found where they are made, and named."""

import copy
import json
import pathlib
import pickle
import re
import sys
import threading
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np

import jax_ffi_ops
from jax_ffi_ops import kit
from jax_ffi_ops.kit.declare.signature import Signature

_PATH = pathlib.Path(jax_ffi_ops.__file__).parent / "ops/librms_norm_ext.so"
_X = np.ones((2, 4), np.float32)


def _declare(name, signature="(n)->(n)", library=None, **kwargs):
  """Declares an op with a handler, which is not to be reached."""
  if library is None:
    library = mock.create_autospec(kit.Library, instance=True, path="lib.so")
    library.prefix = ""
    library.declare.side_effect = lambda target, required=True: (
        frozenset({"cpu"} if required else ())
    )
    library.cores.return_value = None
    library.ready.side_effect = lambda received, exported: received.target
    library.exported.side_effect = lambda target: target
  return kit.op(name, signature=signature, library=library, **kwargs)


def _cores(*without, **changed):
  """Returns what the build writes for an op, with a fault in it."""
  core = {
      "operands": [["float32", [None]]], "attributes": {}, "least_rows": [1, 1]
  } | changed  # fmt: skip
  return json.dumps(
      {"of_cores": [{k: x for k, x in core.items() if k not in without}]}
  )


def _lower_derivative(op):
  traced = jax.jit(lambda x: jax.jvp(op, (x,), (x,))).trace(_X)
  traced.lower(lowering_platforms=("cpu",))


class KitDeclarationTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    # The ops of a test are gone after it.
    self.enter_context(
        mock.patch.dict(sys.modules["jax_ffi_ops.kit.op"]._declared)
    )

  @parameterized.parameters(
      "", "(n)", "n->n", "(n)->", "->(n)", "(n)->(n)->(n)", "(n)(m)->(n)",
      "(n)=>(n)", "(n->(n)", "((n))->(n)", "(n),->(n)",
  )  # fmt: skip
  def test_no_signature(self, signature):
    with self.assertRaisesRegex(ValueError, "is not a signature like"):
      _declare("test_op", signature)

  @parameterized.parameters(
      ("(n-1)->()", "n-1"),
      ("(0n)->()", "0n"),
      ("(-1)->()", "-1"),
      ("(2n+1)->()", "2n+1"),
      ("(n2.5)->()", "n2.5"),
      ("(n,)->(n)", ""),
      ("(n)->(a.b)", "a.b"),
  )
  def test_dimension_that_is_no_name(self, signature, dimension):
    message = re.escape(f"The dimension '{dimension}' in")
    with self.assertRaisesRegex(ValueError, message):
      _declare("test_op", signature)

  def test_dtypes_of_results_are_those_of_the_reference(self):
    """Also after jax has got other types of 64 bits, or lost them."""
    op = _declare("test_op", "(n)->()", reference=jnp.argmax)
    for wide in (False, True, False):
      with jax.enable_x64(wide):
        self.assertEqual(
            jax.eval_shape(op, _X).dtype, np.int64 if wide else np.int32
        )

  @parameterized.parameters(
      ("(n)->(m)", "m"), ("()->(k)", "k"), ("(m,n),(n)->(m),(m,p)", "p")
  )
  def test_result_dimension_that_no_operand_has(self, signature, dimension):
    with self.assertRaisesRegex(
        ValueError,
        f"size of the result dimension '{dimension}' of .* no operand",
    ):
      _declare("test_op", signature)

  def test_spaces_in_a_signature(self):
    self.assertEqual(
        Signature.parse(" (m, n), (n) -> (m), () "),
        Signature((("m", "n"), ("n",)), (("m",), ())),
    )

  @parameterized.parameters(-1, 1, 2)
  def test_residuals(self, residuals):
    with self.assertRaisesRegex(
        ValueError, rf"test_op: {residuals} residuals leave no result of"
    ):
      _declare("test_op", derivatives=kit.Derivatives(residuals=residuals))

  @parameterized.parameters((None,), (object,), (np.complex64,))
  def test_attribute_without_a_type(self, kind):
    with self.assertRaisesRegex(
        TypeError, "test_op: a: An attribute must be .*, got"
    ):
      _declare("test_op", attributes={"a": kind})

  def test_attribute_does_not_widen_what_the_reference_computes(self):
    with jax.enable_x64(True):
      op = _declare(
          "shifted",
          attributes={"shift": np.float64},
          reference=lambda x, *, shift: x + shift,
      )
      result = jax.eval_shape(lambda x: op(x, shift=1), _X)
    self.assertEqual(result.dtype, np.float32)

  def test_handler_that_the_library_lacks(self):
    library = kit.Library(_PATH)
    with self.assertRaisesRegex(
        ImportError, "librms_norm_ext.so' has no FFI handler 'test_op_fwd'"
    ):
      _declare("test_op", library=library)

  @parameterized.parameters(
      ("{", "Expecting property name"),
      ("\xff", "can't decode byte 0xff"),
      ("[]", r"expected a mapping with 'of_cores', got \[\]"),
      ("{}", "'of_cores' is missing in {}"),
      ('{"of_cores": {}}', "'of_cores' must be a list, got {}"),
      ('{"of_cores": [1]}', "expected a mapping with 'operands', got 1"),
      (_cores(operands=None), "'operands' must be a list, got None"),
      (_cores(operands=[["float99", []]]), "'float99' not understood"),
      (_cores(operands=[["float32"]]), "not enough values"),
      (_cores(operands=[["float32", 3]]), "'int' object is not iterable"),
      (_cores(least_rows=[1]), "not enough values"),
      (_cores(least_rows=[1, "2"]), "'2' is no number of rows"),
      (_cores(attributes=[]), r"'attributes' must be a dict, got \[\]"),
      (_cores("operands"), "'operands' is missing in {'attributes'"),
      (_cores("attributes"), "'attributes' is missing in {'operands'"),
      (_cores("least_rows"), "'least_rows' is missing in {'operands'"),
  )
  def test_cores_that_cannot_be_read(self, text, problem):
    path = self.create_tempfile("libmy.cores.json")
    path.write_bytes(text.encode("latin-1"))
    library = mock.create_autospec(kit.Library, instance=True, prefix="")
    library.path = path.full_path.replace(".cores.json", ".so")
    library.cores.side_effect = lambda op: kit.Library.cores(library, op)
    with self.assertRaisesRegex(
        ImportError,
        rf"'{path.full_path}', the list of cores that '{library.path}' was"
        rf" compiled for, cannot be read: .*{problem}",
    ):
      _declare("of_cores", library=library, reference=lambda x: x)

  def test_two_ops_of_one_name(self):
    _declare("test_op")
    with self.assertRaisesRegex(ValueError, "There is an op 'test_op' already"):
      _declare("test_op")
    jax_ffi_ops.load()
    with self.assertRaisesRegex(ValueError, "'xla_ffi_ops_rms_norm' already"):
      _declare("xla_ffi_ops_rms_norm")

  def test_threads_that_declare_one_op(self):
    """All trace the reference at once, and so get to the name together."""
    together = threading.Barrier(8, timeout=60)
    outcomes = []

    def reference(x):
      together.wait()
      return x

    def declare():
      try:
        outcomes.append(str(_declare("test_op", reference=reference)))
      except ValueError as error:
        outcomes.append(str(error))

    threads = [threading.Thread(target=declare) for _ in range(8)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertCountEqual(
        outcomes,
        ["<op test_op: (n)->(n)>", *["There is an op 'test_op' already."] * 7],
    )

  def test_no_name(self):
    with self.assertRaisesRegex(ValueError, "name of an op must not be empty"):
      _declare("")

  @parameterized.parameters(
      dict(operands=(1,)), dict(operands=("",)), dict(outputs=(2,)),
      dict(outputs=("",)), dict(
          derivatives=kit.Derivatives(residuals=(3,)), signature="(n)->(n),(n)"
      ),
  )  # fmt: skip
  def test_names_that_are_none(self, **declared):
    with self.assertRaisesRegex(
        ValueError, "test_op: names .* strings that are not empty, got"
    ):
      _declare("test_op", **declared)

  @parameterized.parameters(
      dict(operands=("self",)),
      dict(attributes={"self": np.int32}),
  )
  def test_name_that_python_takes(self, **declared):
    with self.assertRaisesRegex(ValueError, r"test_op: .* several \['self'\]"):
      _declare("test_op", **declared)

  @parameterized.parameters(
      ([],), ({"x": ()},), ("float32",), (["nothing"],), (1,), ({"x": 1},)
  )
  def test_dtypes_that_are_none(self, dtypes):
    with self.assertRaisesRegex(TypeError, "test_op: `dtypes` of x must be"):
      _declare("test_op", reference=lambda x: x, dtypes=dtypes)

  @parameterized.parameters(
      (lambda x: None,), (lambda x: {"y": x},), (lambda x: ((x,),),)
  )
  def test_reference_that_returns_no_arrays(self, reference):
    with self.assertRaisesRegex(
        TypeError, "test_op: the reference must return an array or"
    ):
      _declare("test_op", reference=reference)

  @parameterized.parameters(
      (lambda x: None,), (lambda x: x.dtype,), (lambda x: {"y": x.dtype},)
  )
  def test_results_that_are_no_dtypes(self, results):
    with self.assertRaisesRegex(
        TypeError,
        "test_op: `Results.dtypes` must return a sequence of dtypes, got",
    ):
      _declare("test_op", results=kit.Results(dtypes=results))

  @parameterized.parameters(
      (np.int64,),
      (kit.Attribute(np.int64, minimum=-3),),
      (kit.Attribute(np.int64, minimum=0),),
  )
  def test_dimension_is_at_least_0(self, kind):
    def reference(x, *, k):
      if k < 1:  # It may be none of 0, which no example is then.
        raise ZeroDivisionError
      return jnp.full(k, x[0])

    op = _declare(
        "test_op", "(n)->(k)", reference=reference, attributes={"k": kind}
    )
    with self.assertRaisesRegex(ValueError, "test_op: k must be at least 0"):
      op(_X, k=-1)
    self.assertEqual(jax.eval_shape(lambda: op(_X, k=3)).shape, (2, 3))

  def test_sizes_that_were_tried(self):
    with self.assertRaises(TypeError) as caught:
      _declare("test_op", "(d),(h)->(d)", reference=lambda x, w: x * w)
    note = caught.exception.__notes__[-1]
    self.assertIn("test_op, (d),(h)->(d), with d = 8, h = 16.", note)
    self.assertIn("'(2h),(h)->(2h)'", note)

  @parameterized.parameters(
      (
          "(n)->(m)",
          {"m": lambda n: n, "k": lambda n: n},
          r"`Results.sizes` has \['k'\], but .*\['m'\]",
      ),
      (
          "(n)->(n)",
          {"n": lambda n: n},
          r"`Results.sizes` has \['n'\], but .*\[\]",
      ),
      ("(n)->(m)", {"m": lambda k: k}, r"sizes\['m'\] has .* named \['k'\]"),
      ("(n)->(m)", {"m": lambda n: n / 2}, "'m' must be an integer of .* 4.0"),
      (
          "(n)->(m)",
          {"m": lambda n: n - 9},
          "at least 0, but `Results.sizes` gives -1",
      ),
  )
  def test_sizes_that_are_none(self, signature, sizes, message):
    with self.assertRaisesRegex(ValueError, message):
      _declare(
          "test_op",
          signature,
          results=kit.Results(sizes=sizes),
          reference=lambda x: x,
      )

  def test_transpose_that_takes_all_operands(self):
    with self.assertRaisesRegex(ValueError, "but it takes all of them"):
      _declare(
          "test_op",
          reference=lambda x: x,
          derivatives=kit.Derivatives(transpose=lambda x, dy: dy),
      )

  def test_dimension_with_a_minimum(self):
    op = _declare(
        "test_op",
        "(n)->(k)",
        reference=lambda x, *, k: jnp.full(k, x[0]),
        attributes={"k": kit.Attribute(np.int64, minimum=2)},
    )
    with self.assertRaisesRegex(ValueError, "test_op: k must be at least 2"):
      op(_X, k=1)

  @parameterized.parameters(None, b"(n)->(n)", 3)
  def test_signature_that_is_no_string(self, signature):
    with self.assertRaisesRegex(
        TypeError, "test_op: signature must be a str, got"
    ):
      _declare("test_op", signature)

  def test_library_that_is_none(self):
    with self.assertRaisesRegex(TypeError, "test_op: library .* got '/lib.so'"):
      _declare("test_op", library="/lib.so")

  def test_split_of_another_kind(self):
    with self.assertRaisesRegex(
        TypeError, "test_op: split must be a Split, got {'local': 1}"
    ):
      _declare("test_op", split={"local": 1})

  def test_copies_of_an_op(self):
    op = _declare("test_op")  # A module has it under no name.
    self.assertIs(copy.copy(op), op)
    self.assertIs(copy.deepcopy({"norm": [op]})["norm"][0], op)
    with self.assertRaisesRegex(
        (pickle.PicklingError, AttributeError), "test_op"
    ):
      pickle.dumps(op)

  def test_pickled_op(self):
    """By the name of what holds it, also if another module's helper makes it."""
    module = types.ModuleType("some_module")
    module.helper = _declare
    with mock.patch.dict(sys.modules, some_module=module):
      exec("_my_op = helper('test_op')", module.__dict__)  # pylint: disable=exec-used
      pickled = pickle.dumps([module._my_op, jax_ffi_ops.rms_norm])
      self.assertIn(b"some_module", pickled)
      mine, norm = pickle.loads(pickled)
    self.assertIs(mine, module._my_op)
    self.assertIs(norm, jax_ffi_ops.rms_norm)

  def test_name_is_free_after_a_failure(self):
    with self.assertRaises(ValueError):
      _declare("test_op", "(n)->(m)")
    _declare("test_op")

  @parameterized.parameters(
      ("z", r"several axes \(\['a', 'y'\]\), got 'z'"),
      ("x", r"several axes \(\['a', 'y'\]\), got 'x'"),
  )
  def test_column_major_array_that_is_none(self, name, message):
    with self.assertRaisesRegex(ValueError, f"test_op: `column_.*{message}"):
      _declare(
          "test_op",
          "(m,n),(n)->(m,n)",
          operands=("a", "x"),
          buffers=kit.Buffers(column_major=("a", name)),
      )

  def test_column_major_array_with_trailing_loops(self):
    with self.assertRaisesRegex(
        ValueError, "without '\\*'. kit.call takes any"
    ):
      _declare(
          "test_op",
          "(m,n,*)->(*)",
          operands=("a",),
          buffers=kit.Buffers(column_major=("a",)),
      )

  def test_in_place_in_another_order(self):
    with self.assertRaisesRegex(
        ValueError, r"of \('y', 'a'\) one is column-major"
    ):
      _declare(
          "test_op",
          "(m,n)->(m,n)",
          operands=("a",),
          buffers=kit.Buffers(column_major=("a",), in_place={"y": "a"}),
      )

  @parameterized.parameters(
      (dict(operands={"y": kit.Operand(parameter=True)}),),
      (dict(dtypes={"y": ("float32",)}),),
  )
  def test_operand_that_is_not_there(self, declared):
    with self.assertRaisesRegex(ValueError, r"test_op: no operand .* \['y'\]"):
      _declare("test_op", reference=lambda x: x, **declared)

  @parameterized.parameters(
      "results", "derivatives", "choice", "buffers", "library"
  )
  def test_argument_of_another_kind(self, what):
    with self.assertRaisesRegex(TypeError, f"test_op: {what} must be a [A-Z]"):
      _declare("test_op", reference=lambda x: x, **{what: ("x",)})

  def test_operand_of_another_kind(self):
    with self.assertRaisesRegex(
        TypeError, "test_op: x must be an Operand, got"
    ):
      _declare("test_op", operands={"x": "float32"})

  def test_operands_that_are_named_in_order(self):
    """With a reference, a mapping is about some of them; else it names all."""
    roles = {"w": kit.Operand(parameter=True)}
    op = _declare(
        "test_op", "(n),(n)->(n)", reference=lambda x, w: x, operands=roles
    )
    self.assertEqual(op.declaration.slots, ("x", "w"))
    self.assertEqual(op.declaration.parameters, {"w"})
    with self.assertRaisesRegex(ValueError, r"but named are \['w'\]"):
      _declare("other_op", "(n),(n)->(n)", operands=roles)
    op = _declare(
        "other_op", "(n),(n)->(n)", operands={"a": kit.Operand()} | roles
    )
    self.assertEqual(op.declaration.slots, ("a", "w"))

  def test_sums_over_rows_that_are_broadcast(self):
    with self.assertRaisesRegex(ValueError, r"test_op: .* `row_sums` are"):
      _declare(
          "test_op",
          reference=lambda x: x,
          operands={"x": kit.Operand(row_sums=True)},
          buffers=kit.Buffers(broadcast_operands=True),
      )

  @parameterized.parameters(
      {"needed_by": {"x": ("x",)}, "skips_gradients": True},
      {"needed_by": {"y": ("x",)}},
  )
  def test_operands_that_need_no_residual(self, **declared):
    with self.assertRaisesRegex(ValueError, "test_op: `needed_by` is about"):
      _declare(
          "test_op",
          reference=lambda x: x,
          outputs=("y",),
          derivatives=kit.Derivatives(residuals=("y",), **declared),
      )

  @parameterized.parameters(
      {"z": "x"}, {"x": "x"}, {"y": "x", "z": "x"}, {"y": "y"}
  )
  def test_results_in_place(self, **in_place):
    wrong = "operand is named|test_op: `in_place` is from results"
    with self.assertRaisesRegex(ValueError, wrong):
      _declare(
          "test_op",
          reference=lambda x: x,
          outputs=("y",),
          buffers=kit.Buffers(in_place=in_place),
      )

  @parameterized.parameters(-1, 1.5)
  def test_most_loops_that_are_no_number_of_dimensions(self, most_loops):
    with self.assertRaisesRegex(ValueError, f"test_op: .*, got {most_loops}"):
      _declare(
          "test_op",
          reference=lambda x: x,
          buffers=kit.Buffers(most_loops=most_loops),
      )

  @parameterized.parameters(
      ({"local": lambda z: z}, "split.local has parameters named"),
      ({"local": lambda before: before}, "split.local has parameters named"),
      ({"identity": lambda: (0, 0)}, "returns 2 numbers for a state of 1"),
      (
          {"combine": lambda a, b: (a[0] == b[0],)},
          r"but a state is float32\[\]",
      ),
      ({"combine": lambda a, b: (a[0],) * 2}, "split.combine returns"),
      ({"apply": lambda x, whole: whole[0]}, "`split.apply` returns"),
      ({"dimension": "m"}, "a dimension that is split stands once"),
  )
  def test_split_that_is_none(self, change, message):
    split = {
        "local": lambda x: jnp.sum(x),
        "identity": lambda: 0,
        "combine": lambda a, b: (a[0] + b[0],),
        "apply": lambda x, whole: x / whole[0],
    }
    with self.assertRaisesRegex((TypeError, ValueError), message):
      _declare(
          "test_op",
          reference=lambda x: x / jnp.sum(x),
          split=kit.Split(**split | change),
      )

  @parameterized.parameters("(m,n)->(n)", "(n,n)->()", "(2n)->(n)")
  def test_dimension_that_cannot_be_split(self, signature):
    split = kit.Split(
        local=jnp.sum, identity=int, combine=max, apply=lambda x, whole: x
    )
    with self.assertRaisesRegex(ValueError, "dimension"):
      _declare("test_op", signature, reference=lambda x: x, split=split)

  def test_64_bits_that_an_op_does_not_take(self):
    """Outside of x64, what jax has of 64 bits is narrowed as NumPy's is."""
    op = _declare("test_op", dtypes=("int32",))
    with jax.enable_x64(True):
      x = jnp.arange(4)
    for operand in (x, np.arange(4)):
      self.assertEqual(jax.eval_shape(lambda x=operand: op(x)).dtype, np.int32)
    op = _declare("other_op", dtypes=("int64",))
    self.assertEqual(jax.eval_shape(lambda: op(x)).dtype, np.int64)
    with self.assertRaisesRegex(TypeError, "must have dtype int64, got int32"):
      op(np.arange(4))

  def test_number_of_names(self):
    with self.assertRaisesRegex(ValueError, "test_op: .* 2 operands, .*'x'"):
      _declare("test_op", "(n),(n)->(n)", operands=("x",))
    with self.assertRaisesRegex(ValueError, "test_op: .* 2 operands, .*'x'"):
      _declare("test_op", "(n),(n)->(n)", reference=lambda x: x)

  def test_number_of_result_dtypes(self):
    with self.assertRaisesRegex(
        TypeError, "test_op: `Results.dtypes` gives 2, but"
    ):
      _declare(
          "test_op", results=kit.Results(dtypes=lambda x: (x.dtype, x.dtype))
      )
    with self.assertRaisesRegex(TypeError, "test_op: the reference gives 2"):
      _declare("test_op", reference=lambda x: (x, x))

  @parameterized.parameters(
      (lambda x: x[:-1], r"float32\[7\], but declared is float32\[8\]"),
      (lambda x: x.astype(jnp.float16), r"float16\[8\], but"),
      (lambda x: (x, x), r"float32\[8\], float32\[8\], but"),
      (lambda x: (), r"returns .*, but declared is float32\[8\]"),
  )
  def test_reference_that_does_not_fit(self, reference, message):
    with self.assertRaisesRegex(
        TypeError, "test_op: the reference.*" + message
    ):
      _declare(
          "test_op",
          reference=reference,
          results=kit.Results(dtypes=lambda x: (x.dtype,)),
      )

  def test_without_reference(self):
    op = _declare("test_op")
    with self.assertRaisesRegex(
        NotImplementedError, "test_op has no reference .* no derivatives"
    ):
      _lower_derivative(op)
    with self.assertRaisesRegex(NotImplementedError, "runs only on cpu"):
      jax.jit(op).trace(_X).lower(lowering_platforms=("tpu",))

  def test_wrong_number_of_operands(self):
    op = _declare("test_op", "(n),(n)->(n)", operands=("x", "y"))
    with self.assertRaisesRegex(TypeError, r"takes 2 operands \(x, y\), got 1"):
      op(_X)

  @parameterized.parameters(
      ((2, 4), (3,), r"y must have size 4 along 'n' as x, got shape \(3,\)"),
      ((2, 4), (3, 4), r"y must have the leading axes \(2,\) of x, or none"),
      ((2, 4), (1, 4), r"y must have the leading axes \(2,\) of x, or none"),
      ((), (4,), r"x must have 1 axes or more, got shape \(\)"),
  )
  def test_shapes(self, x, y, message):
    op = _declare("test_op", "(n),(n)->(n)", operands=("x", "y"))
    with self.assertRaisesRegex(ValueError, "test_op: " + message):
      op(np.ones(x, np.float32), np.ones(y, np.float32))


if __name__ == "__main__":
  absltest.main()
