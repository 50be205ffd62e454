// Coverage: the definitions that decide whether outbox rows are sent.
//
// A publication that stops covering the outbox for a moment does not report it,
// and looks the same afterwards. Its catalog rows do not: a dropped and
// re-created one has another oid, an altered one another xmin. So the oids and
// xmins are kept with what was sent under them (checkpoint, birth record), and
// compared at every start and while walpost runs (P9).
//
//   16390:742o16385,public.outbox=16385.r16394:745
//   publication        name = oid . reason why the publication covers the table
//
// A table is covered by its own entry (`r`, pg_publication_rel, of the table or
// of the partitioned tables above it), by that of its schema (`n`,
// pg_publication_namespace), or by all tables (`a`). In the last two cases the
// name matters, and the row type of the table is added (`t`): its catalog row
// changes with the name and the schema, but not with privileges, statistics or
// columns. `c` are tables that inherit from it. If rows are published under the
// name of the root (`publish_via_partition_root`) in those two cases, only the
// pg_class row (`k`) shows that a table was a partition of another one for a
// moment. This row changes with privileges and indexes, too.
//
// The row of the publication changes with its owner, too, which keeps no row
// from being sent. Behind the xmin is the oid of the owner, and before that `o`
// if the last change of the row has set it (pg_shdepend has the same xmin), `w`
// if it has not, and `p` if that is not known (of a role that initdb has made).
// What the publication was before a change of owner is not known either;
// whoever looks often, as walpost does while it runs, knows it.
//
// A table that was removed from the configuration once (`left`) stays in the
// text: its rows were skipped meanwhile.
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
  std::string publication;  // "16390:742o16385"; empty: none
  std::vector<Table> tables;

  std::string ToString() const;
  // Accepts any text; parts that it does not understand are ignored.
  static Coverage Parse(std::string_view text);

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// The oid of each table; 0: the table does not exist.
std::vector<uint32_t> TableOids(const Coverage& coverage);

// `now`, plus the tables that only `before` has, marked as left out. A table
// that was left out stays so.
Coverage WithLeftOut(Coverage now, const Coverage& before);

// The same for two texts; an empty one knows nothing.
std::string MergeCoverage(const std::string& newer, const std::string& older);

// `text`, with the tables marked that `marks` says were left out.
std::string MarkLeftOut(const std::string& text, const std::string& marks);

// `text`, with the publication as `state` has it: it may have another owner.
std::string WithPublicationOf(const std::string& text,
                              const std::string& state);

// Describes the change from `before` to `now` for an operator; empty: no change
// that could have kept rows from being sent. Tables in only one of the two were
// added to the configuration or removed from it. A table that was left out and
// is there again counts as changed.
std::string DescribeChange(const Coverage& before, const Coverage& now);

// True if the publication has got another owner, and nothing shows another
// change of it.
bool OwnerHasChanged(const Coverage& before, const Coverage& now);

}  // namespace walpost
