"""What JsonConverter writes with schemas.enable=true, from the schema that a
recording has of a key or a value, and the text without it.

    STRUCT<payload>?{a:ARRAY?[INT32?] b:STRING?=dflt(x) }
"""

import json
import re

_TYPES = {"INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
          "FLOAT32": "float", "FLOAT64": "double", "BOOLEAN": "boolean",
          "STRING": "string", "BYTES": "bytes", "ARRAY": "array",
          "STRUCT": "struct"}
_DOCS = {"io.debezium.data.VariableScaleDecimal": "Variable scaled decimal"}
_HEAD = re.compile(r"([A-Z]+[0-9]*)(?:<([^>]*)>)?(?:v(\d+))?(\??)"
                   r"(?:=dflt\(([^)]*)\))?")


def with_schema(signature, text):
    """The bytes; `text`: those without a schema."""
    if signature in ("", "null"):
        return text and b'{"schema":null,"payload":' + text + b"}"
    schema, rest = _schema(signature)
    assert not rest.strip(), signature
    return (b'{"schema":' + json.dumps(
        schema, separators=(",", ":"), ensure_ascii=False).encode()
            + b',"payload":' + text + b"}")


def _schema(text):
    """The schema that `text` begins with, and the rest of it."""
    found = _HEAD.match(text)
    kind, name, version, optional, default = found.groups()
    text = text[found.end():]
    schema = {"type": _TYPES[kind]}
    parameters = None
    if kind == "ARRAY":
        schema["items"], text = _schema(text[1:])
        text = text[1:]
    elif kind == "STRUCT":
        schema["fields"], text = _fields(text[1:])
    elif text.startswith("{"):
        inside, _, text = text[1:].partition("}")
        parameters = dict(part.split("=", 1) for part in inside.split(", "))
    schema["optional"] = bool(optional)
    if name:
        schema["name"] = name
    if version:
        schema["version"] = int(version)
    if name in _DOCS:
        schema["doc"] = _DOCS[name]
    if parameters:
        schema["parameters"] = parameters
    if default is not None:
        schema["default"] = (int(default) if kind.startswith("INT")
                             else default)
    return schema, text


def _fields(text):
    fields = []
    while not text.startswith("}"):
        name, _, text = text.partition(":")
        schema, text = _schema(text)
        fields.append({**schema, "field": name})
        text = text.removeprefix(" ")
    return fields, text[1:]
