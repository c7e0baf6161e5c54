# SPDX-License-Identifier: Apache-2.0
"""Which symbols an xla_ffi_extension exports, and under which names."""

# Names by which jax_ffi_ops.kit finds the parts of a target; XLA_FFI_OPS_DEFINE_HANDLER and
# XLA_FFI_OPS_DEFINE_STATE give them. Platforms share the types.
_PARTS = {
    "execute": "{}_{}",
    "initialize": "{}_initialize_{}",
    "instantiate": "{}_instantiate_{}",
    "prepare": "{}_prepare_{}",
    "type_id": "{}_state_type_id",
    "type_info": "{}_state_type_info",
}

def _in_c(target):
    """Returns the name of a target in symbols, as kit.Library does."""
    return "".join([c if c.isalnum() else "_" for c in target.elems()])

def _check_names(name, attribute, names):
    if type(names) not in ("list", "dict"):
        fail("{}: {} must be known when BUILD files are read: no select()".format(name, attribute))
    known = {}
    for target in names:
        symbol = _in_c(target)
        if not target or target[0].isdigit() or (attribute != "symbols" and symbol != target):
            fail(("{}: {} has {}, which is no symbol of C; name the symbol by `symbols` of " +
                  "kit.Library").format(name, attribute, repr(target)))
        if known.setdefault(symbol, target) != target:
            fail("{}: {} has {} and {}, which are one symbol of C".format(
                name,
                attribute,
                repr(known[symbol]),
                repr(target),
            ))

def _parts(name, target, platform, value):
    parts = {"execute": value} if type(value) == "string" else value
    if type(parts) != "dict" or "execute" not in parts or [p for p in parts if p not in _PARTS]:
        fail("{}: symbols of {} for {} must be a symbol, or map execute and others of {}, got {}".format(
            name,
            target,
            platform,
            ", ".join(_PARTS),
            repr(value),
        ))
    return {_PARTS[part].format(_in_c(target), platform): symbol for part, symbol in parts.items()}

def exported_symbols(name, handlers, stateful_handlers, symbols):
    """Returns the symbols that an extension exports.

    Args:
      name: of the extension, for errors.
      handlers: targets that the kit's macro defines.
      stateful_handlers: the same, with a state.
      symbols: targets without the kit's macro: {target: {platform: symbol, or {part: symbol}}}.

    Returns:
      A dictionary with a struct for "cpu" and one for "cuda". `own` lists the symbols of the kit's
      macros, and `named` the symbols in `symbols`. `aliases` maps the kit's names to these symbols.
    """
    for attribute, names in {
        "handlers": handlers,
        "stateful_handlers": stateful_handlers,
        "symbols": symbols,
    }.items():
        _check_names(name, attribute, names)
    result = {}
    for platform in ("cpu", "cuda"):
        own = [_PARTS["execute"].format(t, platform) for t in handlers + stateful_handlers]
        for part in ["instantiate"] + (["type_id", "type_info"] if platform == "cpu" else []):
            own += [_PARTS[part].format(t, platform) for t in stateful_handlers]
        aliases = {}
        for target, platforms in symbols.items():
            if type(platforms) != "dict" or [p for p in platforms if p not in ("cpu", "cuda")]:
                fail("{}: symbols of {} must map cpu, cuda or both, got {}".format(
                    name,
                    target,
                    repr(platforms),
                ))
            if platform in platforms:
                aliases.update(_parts(name, target, platform, platforms[platform]))

        # What the script of the linker has for the CPU, it must not have again.
        shared = result["cpu"].aliases if result else {}
        named = result["cpu"].named if result else []
        for alias, of in aliases.items():
            if shared.get(alias, of) != of:
                fail("{}: {} is {} and {}: platforms share it".format(name, alias, shared[alias], of))
        result[platform] = struct(
            aliases = {a: of for a, of in aliases.items() if a != of and a not in shared},
            named = sorted({of: None for of in aliases.values() if of not in named}),
            own = own,
        )
    return result
