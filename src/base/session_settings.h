// The settings of the server that every session of walpost pins.
//
// A setting may come from ALTER SYSTEM, DATABASE, ROLE or ROLE IN DATABASE.
// What walpost reads, how long it may take, and which rows it sees must not
// depend on that. Startup options override all four.
//
// Left alone on purpose: `role` (an operator may want the privileges of a group
// role), `session_replication_role` (only a superuser may change it; it decides
// whether triggers of the table fire for our own statements), `lc_*`, and what
// only changes plans.
//
// src/verify has connections of its own and pins the same list.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace walpost {

// Startup options, "name=value", each to be sent as " -c name=value". Every
// supported server knows them, and every role may set them; one that is too old
// refuses the login for idle_session_timeout.
inline constexpr std::string_view kPinnedSettings[] = {
    // How values are rendered.
    "TimeZone=UTC",
    "DateStyle=ISO",
    "IntervalStyle=postgres",
    "bytea_output=hex",
    "extra_float_digits=1",
    "xmlbinary=base64",
    "quote_all_identifiers=off",
    // How our statements are parsed.
    "standard_conforming_strings=on",
    "escape_string_warning=off",
    // How long things may take. A session that wants a limit sets its own.
    "statement_timeout=0",
    "lock_timeout=0",
    "idle_in_transaction_session_timeout=0",
    "idle_session_timeout=0",
    // Which rows are seen: with `off`, a policy that would hide some is an
    // error instead.
    "row_security=off",
    // What a transaction is.
    "default_transaction_isolation=read\\ committed",
    "default_transaction_read_only=off",
    "default_transaction_deferrable=off",
    // The rest: noise, and plans that cost more to compile than to run.
    "client_min_messages=warning",
    "jit=off",
};

// Defaults of connection parameters, which the conninfo overrides: a server
// that vanished without a word is noticed within half a minute.
inline constexpr std::pair<const char*, const char*> kConnectionDefaults[] = {
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "25000"},
};

// The statement that pins the rest, to be run once after connecting (also on a
// replication connection):
//
//   transaction_timeout  unknown before 17, where it would refuse the login
//   search_path          pg_catalog comes first, so that no schema of the role
//                        shadows what our statements call; the role's own path
//                        follows, for triggers and for `--where`
//   client_encoding      SQL_ASCII in a database of that encoding: with UTF8
//                        the server fails at a byte that is not UTF-8 and does
//                        not say which row has it
//
// `server_version` as PQserverVersion gives it; `server_encoding` as
// PQparameterStatus gives it.
std::string PinLateSettingsSql(int server_version,
                               std::string_view server_encoding);

// Whether the server passes on bytes that need not be UTF-8.
inline bool MayHoldAnyBytes(std::string_view server_encoding) {
  return server_encoding == "SQL_ASCII";
}

}  // namespace walpost
