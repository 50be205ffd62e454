// Coverage: the definitions that decide whether outbox rows are sent.
//
// A publication that stops covering the outbox for a moment does not report it,
// and looks the same afterwards. Its catalog rows do not: a dropped and
// re-created one has another oid, an altered one another xmin. So the oids and
// xmins are kept with what was sent under them (checkpoint, birth record), and
// compared at every start and while walpost runs (P9).
//
//   16390:742,!=o16385,public.outbox=16385.r16394:745
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
// moment. This row also changes with privileges and indexes.
//
// The row of the publication also changes with its owner, which keeps no row
// from being sent. Behind `!` is the oid of the owner, and before that `o`
// if the last change of the row has set it (pg_shdepend has the same xmin), `w`
// if it has not, and `p` if that is not known (of a role that initdb has made).
// The definition of the publication before a change of owner is then not known
// either, except to a process that looks often, as walpost does while it runs.
//
// A table that was removed from the configuration stays in the text, marked:
// `left` and the definition that it had then. Rows of relations that are not in
// the configuration are passed over; the text also has these relations
// (passed_over.h):
//
//   public.more=left.16400.r16410:900,*=passed.16400@0/1A2B3C8
//
// A table is the same one under another name if it has the same oid.
//
// 0.2.0 takes `!` and `*` for tables that are not configured. If it has put the
// text on record again, they stand there escaped, as left out: then the owner
// is not known, nor is what was passed over.
//
// The text has no spaces. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"
#include "checkpoint/passed_over.h"

namespace walpost {

struct Coverage {
  struct Table {
    std::string name;  // schema.table
    std::string definition;

    friend bool operator==(const Table&, const Table&) = default;
  };
  std::string publication;  // "16390:742o16385", with its owner; empty: none
  std::vector<Table> tables;
  PassedOver passed_over = {};

  std::string ToString() const;
  // Accepts any text; parts that it does not understand are ignored.
  static Coverage Parse(std::string_view text);

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// The oid of each table; 0: the table does not exist, or was left out.
std::vector<uint32_t> TableOids(const Coverage& coverage);
// The oid of one table; 0: there is no table of this name.
uint32_t TableOid(const Coverage& coverage, std::string_view name);

// The state under which rows are sent from now on: `now`, plus what `before`
// has of tables that are not in the configuration any more, and of relations
// that were passed over. From now on those are kept.
Coverage TakeUp(Coverage now, const Coverage& before);

// Merges what two records say; an empty text knows nothing. A table that the
// older one has as left out stays so, unless its definition is the same still.
// The newer one knows whether all relations that were passed over are on
// record.
std::string MergeCoverage(const std::string& newer, const std::string& older);

// `text`, with the tables as `state` has them: left out, or listed again. Other
// tables of `state` are not added.
std::string WithStateOf(const std::string& text, const std::string& state);

// `text`, with these relations added to those that were passed over.
std::string WithPassedOver(const std::string& text, const PassedOver& passed);

// `fresh`, and what `before` has of relations that are not tables of `fresh`:
// their rows were passed over, whatever was published meanwhile.
std::string CarryPassedOver(const std::string& fresh,
                            const std::string& before);

// Without the tables that do not exist: a later table of the same name is new.
std::string WithoutMissingTables(const std::string& text);

// True if `after` has a table as left out that `before` has not.
bool LeavesOutMore(const std::string& before, const std::string& after);

// The tables of `now` that `before` does not know: they were added to the
// configuration. Tables that were left out are known.
std::vector<Coverage::Table> AddedTables(const Coverage& before,
                                         const Coverage& now);

// The names that tables of `now` have in `before`, in order; empty: the same,
// or `before` does not know the table.
std::vector<std::string> FormerNames(const Coverage& before,
                                     const Coverage& now);

// A table of the configuration whose rows were passed over.
struct PassedTable {
  std::string name;
  Lsn since;  // the first commit with such a row; 0/0: not on record
};
// The tables of `now` of which rows were passed over that committed before
// `resumes_at`, where the stream goes on. Later ones are sent. A table that was
// left out is among them unless it is on record which were passed over.
std::vector<PassedTable> PassedTables(const Coverage& before,
                                      const Coverage& now, Lsn resumes_at);

// `text`, with the publication as `state` has it: it may have another owner.
std::string WithPublicationOf(const std::string& text,
                              const std::string& state);

// Describes the change from `before` to `now` for an operator; empty: no change
// that could have kept rows from being sent. Tables in only one of the two were
// added to the configuration or removed from it. A table that was left out and
// is listed again counts as changed if its definition was another one then, or
// is not known.
std::string DescribeChange(const Coverage& before, const Coverage& now);

// True if the publication has got another owner, and nothing shows another
// change of it.
bool OwnerHasChanged(const Coverage& before, const Coverage& now);

}  // namespace walpost
