// RowOrigin: where the transaction that wrote a row of a table was committed
// first.
//
// The WAL says it of each transaction. A row does not, but a server with
// track_commit_timestamp = on keeps it for each recent transaction, and a row
// names the one that wrote it. That is the transaction of its last UPDATE, so a
// table with updates is not trusted to say that a row is from elsewhere. Nor is
// a row that was moved under an origin of this server (docs/origins.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace walpost {

enum class RowOrigin {
  kOwn,      // this server
  kOther,    // it was replicated, and the stream has skipped its event
  kUnknown,  // the server cannot tell
};

// An origin with such a name stands for rows of this server that are written
// again.
inline constexpr char kOwnOriginPrefix[] = "walpost";

// SQL expression for the rows of a table (`table`: its name, quoted for SQL):
// true for kOther, false for kOwn, NULL for kUnknown. Updates are those that
// the statistics of the server have counted.
std::string IsOfOtherOriginSql(std::string_view table);

// `text`: the value of the expression, as "t" or "true", "f" or "false".
RowOrigin RowOriginOf(std::optional<std::string_view> text);

// Why the origin of a row is not known, and the remedy for later rows.
inline constexpr char kWhyOriginIsUnknown[] =
    "the server keeps the origins of rows with track_commit_timestamp = on "
    "(ALTER SYSTEM SET track_commit_timestamp = on; and a restart; for rows "
    "that are written after it), until they are frozen, if they were neither "
    "updated nor moved";

}  // namespace walpost
