// PublishedRecords as texts, for tests.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "verify/published_records.h"

namespace walpost::testing {

// What is read of these topics. "-": there is none.
inline std::vector<std::string> TextsOf(PublishedRecords& records,
                                        const std::set<std::string>& topics) {
  const auto text = [](const auto& part) {
    return part ? std::string(*part) : std::string("-");
  };
  std::vector<std::string> texts;
  const absl::Status read = records.Read(topics, [&](FoundRecord& record) {
    texts.push_back(fmt::format(
        "{}@{} id={} key={} value={} position={}{}", record.topic,
        record.offset, text(record.id), text(record.key), text(record.value),
        text(record.position), record.is_replayed ? " replayed" : ""));
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  return texts;
}

// "TOPIC BEGIN" of each.
inline std::vector<std::string> DeletedFrom(PublishedRecords& records,
                                            const std::set<std::string>& topics,
                                            bool* may_be_some) {
  std::vector<std::string> texts;
  const auto audit = AuditDatabase::Create(::testing::TempDir());
  EXPECT_TRUE(audit.ok()) << audit.status();
  const auto deleted = records.AddDeletedRecords(topics, **audit);
  EXPECT_TRUE(deleted.ok()) << deleted.status();
  *may_be_some = deleted.ok() && deleted->may_be_some;
  const absl::Status selected = (*audit)->Select(
      "SELECT topic, \"begin\" FROM partitions ORDER BY topic",
      [&](const AuditDatabase::Row& row) {
        texts.push_back(fmt::format("{} {}", row.Text(0), row.Number(1)));
      });
  EXPECT_TRUE(selected.ok()) << selected;
  return texts;
}

}  // namespace walpost::testing
