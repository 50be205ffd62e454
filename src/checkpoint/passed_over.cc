#include "checkpoint/passed_over.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr std::string_view kPassed = "passed";
constexpr std::string_view kSome = "some";
constexpr std::string_view kAny = "all";

void Lower(std::optional<Lsn>& since, Lsn commit_lsn) {
  since = since ? std::min(*since, commit_lsn) : commit_lsn;
}

}  // namespace

void PassedOver::Add(uint32_t oid, Lsn commit_lsn) {
  const auto known = since_.find(oid);
  if (known != since_.end()) {
    known->second = std::min(known->second, commit_lsn);
  } else if (since_.size() < kMaxRelations) {
    since_.emplace(oid, commit_lsn);
  } else {
    Lower(any_since_, commit_lsn);
  }
}

void PassedOver::Add(const PassedOver& other) {
  for (const auto& [oid, commit_lsn] : other.since_) Add(oid, commit_lsn);
  if (other.any_since_) Lower(any_since_, *other.any_since_);
}

std::optional<Lsn> PassedOver::Since(uint32_t oid) const {
  const auto known = since_.find(oid);
  if (known == since_.end()) return std::nullopt;
  return known->second;
}

std::optional<Lsn> PassedOver::SinceIfUnknown(uint32_t oid) const {
  const std::optional<Lsn> since = Since(oid);
  return since ? since : any_since_;
}

std::optional<Lsn> PassedOver::first() const {
  std::optional<Lsn> first = any_since_;
  for (const auto& [oid, commit_lsn] : since_) Lower(first, commit_lsn);
  return first;
}

std::string PassedOver::ToString() const {
  if (empty() && !is_complete_) return "";
  std::string text(is_complete_ ? kPassed : kSome);
  for (const auto& [oid, commit_lsn] : since_) {
    text += fmt::format(".{}@{}", oid, commit_lsn.ToString());
  }
  if (any_since_) text += fmt::format(".{}@{}", kAny, any_since_->ToString());
  return text;
}

PassedOver PassedOver::Parse(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), '.');
  PassedOver passed;
  if (parts.front() != kPassed && parts.front() != kSome) return passed;
  passed.is_complete_ = parts.front() == kPassed;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> words = absl::StrSplit(parts[i], '@');
    const Lsn since = Lsn::Parse(words.back()).value_or(Lsn());
    uint32_t oid = 0;
    if (words.size() == 2 && absl::SimpleAtoi(words.front(), &oid)) {
      passed.Add(oid, since);
    } else {
      Lower(passed.any_since_, since);
    }
  }
  return passed;
}

}  // namespace walpost
