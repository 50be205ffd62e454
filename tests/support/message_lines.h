// Writes decoded messages as the lines of tests/golden/*.expected, so that a
// transcript can be compared with what SQL says it must mean.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "pgoutput/message.h"

namespace walpost::testing {

class MessageLines {
 public:
  void Add(const pgoutput::Message& message) {
    std::visit([this](const auto& m) { Write(m); }, message);
  }

  // Of whole transactions. A begin line lacks lsn_from and lsn_to, which only
  // SQL knows; commit_lsns() and end_lsns() are to lie between them.
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<Lsn>& commit_lsns() const { return commit_lsns_; }
  const std::vector<Lsn>& end_lsns() const { return end_lsns_; }
  size_t unknown() const { return unknown_; }

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
    std::vector<bool> is_key;
  };

  void Write(const pgoutput::Begin& begin) {
    open_.clear();
    open_.push_back(fmt::format("begin\txid={}\tcommit_time={}",
                                begin.xid.value(),
                                begin.commit_time.time_since_epoch().count()));
    has_change_ = false;
    in_transaction_ = true;
  }

  void Write(const pgoutput::Commit& commit) {
    in_transaction_ = false;
    if (!has_change_) return;  // PostgreSQL 14 sends those
    lines_.insert(lines_.end(), open_.begin(), open_.end());
    lines_.push_back("commit");
    commit_lsns_.push_back(commit.commit_lsn);
    end_lsns_.push_back(commit.end_lsn);
  }

  void Write(const pgoutput::Origin& origin) {
    open_.push_back(fmt::format("origin\t{}\t{:016X}", Escape(origin.name),
                                origin.commit_lsn.value()));
  }

  void Write(const pgoutput::Relation& relation) {
    Table table;
    table.name = fmt::format("{}.{}", relation.schema, relation.name);
    relation.ForEachColumn([&table](const pgoutput::Column& column) {
      table.columns.emplace_back(column.name);
      table.is_key.push_back(column.is_key);
    });
    tables_[relation.oid] = std::move(table);
  }

  void Write(const pgoutput::Type&) {}
  void Write(const pgoutput::Unknown&) { ++unknown_; }

  void Write(const pgoutput::Insert& insert) {
    const Table& table = tables_.at(insert.relation_oid);
    Change("insert\t" + table.name + Cells("", table, insert.row));
  }

  void Write(const pgoutput::Update& update) {
    const Table& table = tables_.at(update.relation_oid);
    Change("update\t" + table.name +
           OldCells(update.old_row_kind, table, update.old_row) +
           Cells("new:", table, update.new_row));
  }

  void Write(const pgoutput::Delete& deletion) {
    const Table& table = tables_.at(deletion.relation_oid);
    Change("delete\t" + table.name +
           OldCells(deletion.old_row_kind, table, deletion.old_row));
  }

  void Write(const pgoutput::Truncate& truncate) {
    std::string options = truncate.cascade ? "cascade" : "";
    if (truncate.restart_identity) {
      options += options.empty() ? "restart_identity" : ",restart_identity";
    }
    std::string line = "truncate\t" + (options.empty() ? "-" : options);
    ByteReader oids(truncate.relation_oids);
    for (uint32_t i = 0; i < truncate.relation_count; ++i) {
      line += "\t" + tables_.at(oids.ReadUint32()).name;
    }
    Change(line);
  }

  void Write(const pgoutput::LogicalMessage& message) {
    const std::string line = fmt::format(
        "message\t{}\t{}\t{}",
        message.transactional ? "transactional" : "nontransactional",
        Escape(message.prefix), Hex(message.content));
    if (in_transaction_) {
      Change(line);
    } else {
      lines_.push_back(line);
    }
  }

  void Change(std::string line) {
    open_.push_back(std::move(line));
    has_change_ = true;
  }

  std::string OldCells(pgoutput::OldRow kind, const Table& table,
                       const pgoutput::TupleData& row) {
    switch (kind) {
      case pgoutput::OldRow::kNone:
        return "";
      case pgoutput::OldRow::kKey:
        return Cells("key:", table, row, &table.is_key);
      case pgoutput::OldRow::kFull:
        return Cells("old:", table, row);
    }
    return "";
  }

  // `only`, when given, says which columns to write.
  static std::string Cells(std::string_view mark, const Table& table,
                           const pgoutput::TupleData& row,
                           const std::vector<bool>* only = nullptr) {
    std::string cells;
    row.ForEach([&](size_t i, const pgoutput::ColumnValue& value) {
      if (only != nullptr && !only->at(i)) return;
      cells +=
          fmt::format("\t{}{}={}", mark, table.columns.at(i), CellText(value));
    });
    return cells;
  }

  static std::string CellText(const pgoutput::ColumnValue& value) {
    switch (value.kind) {
      case pgoutput::ValueKind::kNull:
        return "\\N";
      case pgoutput::ValueKind::kUnchanged:
        return "\\U";
      case pgoutput::ValueKind::kText:
        return Escape(value.bytes);
      case pgoutput::ValueKind::kBinary:
        return Hex(value.bytes);
    }
    return "?";
  }

  static std::string Escape(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
      switch (c) {
        case '\\':
          escaped += "\\\\";
          break;
        case '\t':
          escaped += "\\t";
          break;
        case '\n':
          escaped += "\\n";
          break;
        case '\r':
          escaped += "\\r";
          break;
        default:
          escaped += c;
      }
    }
    return escaped;
  }

  static std::string Hex(std::string_view bytes) {
    std::string hex = "\\x";
    for (const char c : bytes) {
      hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
    }
    return hex;
  }

  std::map<uint32_t, Table> tables_;
  std::vector<std::string> open_;  // the lines of the open transaction
  bool has_change_ = false;
  bool in_transaction_ = false;
  std::vector<std::string> lines_;
  std::vector<Lsn> commit_lsns_;
  std::vector<Lsn> end_lsns_;
  size_t unknown_ = 0;
};

}  // namespace walpost::testing
