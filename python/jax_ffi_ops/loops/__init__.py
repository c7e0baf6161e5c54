# SPDX-License-Identifier: Apache-2.0
"""The loop compiler: from the reference of an op to the C++ of its handlers.

In the order in which a compilation goes through them:

  main       what the build runs: it reads a declaration, and writes files
  kernels    the kernels of an op: one for each core, its dtypes and the pass
  recompute  changes what a backward pass keeps of each step
  complex_numbers
             makes pairs of real arrays of complex ones, by complex_formulas
  hoisting   moves what no step of a loop changes out of the loop
  body       walks a jaxpr, and has a rule write each equation
  jaxprs     what is known of a jaxpr before; changes and uniform likewise
  rewriting  equations of jaxprs in other places
  rules      finds the rule of a primitive, in families
  values     the arrays of a jaxpr, and the buffers that they are made of
  cpp        pieces of C++, which know what they read; its types and literals
  writer     takes the lines of a kernel
  handler    prints the C++ file, whose handlers choose among the kernels

Only main knows of files. All else takes a declaration and returns text.
"""
