// Server settings that every session of walpost pins.
//
// A setting may come from ALTER SYSTEM, DATABASE, ROLE or ROLE IN DATABASE. The
// data that walpost reads, the time limits and the visible rows must not depend
// on that. Startup options override all four; a pooler may drop or reject the
// options, so all are set by SQL, too, and read back.
//
// Deliberately not pinned: `role` (an operator may want the privileges of a
// group role), `session_replication_role` (only a superuser may change it; it
// decides whether triggers of the table fire for our own statements), `lc_*`,
// and settings that only change plans.
//
// src/verify has its own connections, and a similar list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace walpost {

// Startup options, "name=value", each sent as " -c name=value". Every supported
// server knows them, and every role may set them; an older server rejects the
// login because of idle_session_timeout.
inline constexpr std::string_view kPinnedSettings[] = {
    // Rendering of values.
    "TimeZone=UTC",
    "DateStyle=ISO",
    "IntervalStyle=postgres",
    "bytea_output=hex",
    "extra_float_digits=1",
    "xmlbinary=base64",
    "quote_all_identifiers=off",
    // Parsing of our statements.
    "standard_conforming_strings=on",
    "escape_string_warning=off",
    // Time limits. A session that needs a limit sets its own.
    "statement_timeout=0",
    "lock_timeout=0",
    "idle_in_transaction_session_timeout=0",
    "idle_session_timeout=0",
    // Visible rows: with `off`, a policy that would hide rows causes an error
    // instead.
    "row_security=off",
    // Transaction properties.
    "default_transaction_isolation=read\\ committed",
    "default_transaction_read_only=off",
    "default_transaction_deferrable=off",
    // Others: noise, and plans that cost more to compile than to run.
    "client_min_messages=warning",
    "jit=off",
};

// Defaults of connection parameters; the conninfo overrides them. A server that
// disappeared silently is noticed within half a minute.
inline constexpr std::pair<const char*, const char*> kConnectionDefaults[] = {
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "25000"},
};

// The statement that pins them, `own` ("name=value", which take precedence) and
// the rest; run it once after connecting (also on a replication connection):
//
//   transaction_timeout  unknown before 17, where it would fail the login
//   search_path          pg_catalog comes first, so that no schema of the role
//                        shadows what our statements call; the role's own path
//                        follows, for triggers and for `--where`
//   client_encoding      SQL_ASCII in a database of that encoding: with UTF8
//                        the server fails at a byte that is not UTF-8 and does
//                        not say which row has it
//
// `server_version` from PQserverVersion; `server_encoding` from
// PQparameterStatus.
std::string PinSettingsSql(int server_version, std::string_view server_encoding,
                           std::span<const std::string> own);

// The statement, for a transaction of its own, that reads them back: name and
// value of each one that has not been kept. `own` are not among them.
std::string ReadSettingsSql(std::span<const std::string> own);

// True if the server sends bytes that need not be UTF-8.
inline bool MayHoldAnyBytes(std::string_view server_encoding) {
  return server_encoding == "SQL_ASCII";
}

}  // namespace walpost
