"""Types of columns, each with a value: what a table may hold.

Made by SETUP, in schema `kinds` where the server has no such type itself.
"""

SETUP = """
create schema kinds;
create extension if not exists citext;
create extension if not exists hstore;
create type kinds.mood as enum ('sad', 'Happy');
create type kinds.pair as (a int, b text);
create domain kinds.label as text check (value <> '');
create domain kinds.bytes as bytea;
create domain kinds.sealed as kinds.bytes check (length(value) > 0);
create domain kinds.positive as int check (value > 0);
create domain kinds.millis as int8;
create domain kinds.moment as timestamptz;
create domain kinds.doc as jsonb;
create domain kinds.numbers as int[];
create domain kinds.folded as citext;
"""

# name: (type, literal)
TYPES = {
    "bool": ("boolean", "true"),
    "int2": ("int2", "7"),
    "int4": ("int4", "-42"),
    "int8": ("int8", "9007199254740993"),
    "millis": ("int8", "1709210096789"),
    "oid": ("oid", "4000000000"),
    "numeric": ("numeric", "'NaN'"),
    "decimal": ("numeric(12, 4)", "1.5"),
    "float4": ("float4", "0.1"),
    "float8": ("float8", "'Infinity'"),
    "money": ("money", "'12.50'"),
    "text": ("text", "'a B'"),
    "varchar": ("varchar(20)", "'Order'"),
    "char": ("char(8)", "'A1'"),
    "onechar": ('"char"', "'x'"),
    "name": ("name", "'Some'"),
    "bytea": ("bytea", r"'\x6100ff'"),
    "date": ("date", "'2024-02-29'"),
    "time": ("time", "'12:34:56.7'"),
    "timetz": ("timetz", "'12:34:56+02'"),
    "timestamp": ("timestamp", "'2024-02-29 12:34:56.789'"),
    "timestamptz": ("timestamptz", "'2024-02-29 12:34:56.789+02'"),
    "interval": ("interval", "'1 year 2 days 03:04:05'"),
    "json": ("json", """'{"a" : [1, "é"]}'"""),
    "jsonb": ("jsonb", """'{"b": "x", "a": "y"}'"""),
    "xml": ("xml", "'<?xml version=\"1.0\" encoding=\"UTF-8\"?><a/>'"),
    "uuid": ("uuid", "'10711FA5-0000-4000-8000-00000000000A'"),
    "inet": ("inet", "'10.0.0.1'"),
    "cidr": ("cidr", "'10.1.0.0/16'"),
    "macaddr": ("macaddr", "'08:00:2B:01:02:03'"),
    "macaddr8": ("macaddr8", "'08:00:2b:01:02:03:04:05'"),
    "bit": ("bit(5)", "'10110'"),
    "varbit": ("varbit", "'101'"),
    "point": ("point", "'(1,2)'"),
    "line": ("line", "'{1,2,3}'"),
    "lseg": ("lseg", "'[(0,0),(1,1)]'"),
    "box": ("box", "'(1,1),(0,0)'"),
    "path": ("path", "'((0,0),(1,1))'"),
    "polygon": ("polygon", "'((0,0),(1,1))'"),
    "circle": ("circle", "'<(1,2),3>'"),
    "int4range": ("int4range", "'[1,4]'"),
    "tstzrange": ("tstzrange", "'[2024-01-01 00:00+02,)'"),
    "multirange": ("int4multirange", "'{[1,2],[5,7)}'"),
    "tsvector": ("tsvector", "'a:1 fat:2'"),
    "tsquery": ("tsquery", "'fat & rat'"),
    "pg_lsn": ("pg_lsn", "'16/B374D848'"),
    "xid8": ("xid8", "'42'"),
    "ints": ("int[]", "'{1,NULL,3}'"),
    "texts": ("text[]", """'{a,"b c",NULL}'"""),
    "jsons": ("json[]", """array['{"a":1}'::json]"""),
    "bools": ("bool[]", "'{t,f}'"),
    "hstore": ("hstore", "'a=>1'"),
    "citext": ("citext", "'MiXed'"),
    "enum": ("kinds.mood", "'Happy'"),
    "composite": ("kinds.pair", "'(1,\"a b\")'"),
    "domain_text": ("kinds.label", "'Label'"),
    "domain_bytea": ("kinds.bytes", r"'\xdeadbeef'"),
    "domain_domain": ("kinds.sealed", r"'\xdeadbeef'"),
    "domain_int": ("kinds.positive", "7"),
    "domain_millis": ("kinds.millis", "1709210096789"),
    "domain_time": ("kinds.moment", "'2024-02-29 12:34:56.789+02'"),
    "domain_jsonb": ("kinds.doc", """'{"a": "1"}'"""),
    "domain_array": ("kinds.numbers", "'{1,2}'"),
    "domain_citext": ("kinds.folded", "'MiXed'"),
}

# Types whose values Postgres cannot tell apart, nor sort.
WITHOUT_EQUALITY = {"json", "xml", "point", "polygon", "jsons", "line", "lseg",
                    "box", "path", "circle"}
WITHOUT_ORDER = WITHOUT_EQUALITY | {"hstore"}

# Types whose text may be a JSON object.
MAY_HAVE_HEADERS = {"text", "varchar", "char", "name", "bytea", "json", "jsonb",
                    "citext", "domain_text", "domain_bytea", "domain_domain",
                    "domain_jsonb", "domain_citext"}
# Those whose value above is one.
HEADERS = {"json", "jsonb", "domain_jsonb"}

TIMES = {"timestamp", "timestamptz", "domain_time", "int2", "millis",
         "domain_int", "domain_millis"}
# The values above are no time that Kafka accepts.
MAY_BE_TIME = TIMES | {"int4", "int8"}

# Whose bytes are not those of the text.
BYTES = {"bytea": b"a\0\xff", "domain_bytea": b"\xde\xad\xbe\xef",
         "domain_domain": b"\xde\xad\xbe\xef"}

# In value.columns: of all others a string.
NUMBERS = {"int2", "int4", "int8", "millis", "domain_int", "domain_millis"}
JSON = {"json", "jsonb", "domain_jsonb"}
