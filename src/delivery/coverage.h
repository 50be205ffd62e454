// Coverage: which definitions decide whether the rows of the outbox are sent.
//
// A publication that stops covering the outbox for a moment says nothing about
// it, and looks afterwards as it looked before. But its catalog rows do not:
// one that was made again has another oid, one that was altered has another
// xmin. So the oids and xmins are kept with what was sent under them
// (checkpoint, birth record) and compared at every start and while walpost runs
// (P9).
//
//   16390:742,public.outbox=16385.r16394:745
//   publication        name = oid . what makes the publication cover the table
//
// What covers a table is its own entry (`r`, pg_publication_rel, of the table
// or of the partitioned tables above it), or that of its schema (`n`,
// pg_publication_namespace), or all tables (`a`). In the last two cases the
// name matters, and the row type of the table is added (`t`): its catalog row
// changes with the name and the schema, and not when privileges, statistics or
// columns change. `c` are tables that inherit from it. Where rows go out under
// the name of the root (`publish_via_partition_root`) in those two cases, a
// table that was a partition of another one for a moment shows it in its
// pg_class row alone
// (`k`), which changes with its privileges and indexes, too.
//
// A table that was left out of the configuration once (`left`) stays in the
// text: its rows were passed over meanwhile.
//
// The text has no spaces. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walpost {

struct Coverage {
  struct Table {
    std::string name;  // schema.table
    std::string definition;

    friend bool operator==(const Table&, const Table&) = default;
  };
  std::string publication;  // "oid:xmin"; empty: there is none
  std::vector<Table> tables;

  std::string ToString() const;
  // Takes any text: what it does not understand is left out.
  static Coverage Parse(std::string_view text);

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// The oid of each table; 0 where there is none.
std::vector<uint32_t> TableOids(const Coverage& coverage);

// `now`, and what `before` has more: tables that are not in `now` were left
// out, and what was left out stays so.
Coverage WithLeftOut(Coverage now, const Coverage& before);

// The same of two texts; one that is empty knows nothing.
std::string MergeCoverage(const std::string& newer, const std::string& older);

// `text` with the tables that were left out by the word of `marks`.
std::string MarkLeftOut(const std::string& text, const std::string& marks);

// What has changed from `before` to `now`, in words for an operator; empty:
// nothing that could have kept rows from being sent. Tables that are in one of
// the two only were added to the configuration, or taken out of it; one that
// was left out and is there again has changed.
std::string DescribeChange(const Coverage& before, const Coverage& now);

}  // namespace walpost
