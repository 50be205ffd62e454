#include "delivery/wal_continuity_check.h"

#include <algorithm>
#include <string>

#include "base/reason_code.h"
#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {
namespace {

absl::Status Forked(const std::string& evidence, Lsn from) {
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "{}: the server was restored from a snapshot or a backup, or is a "
          "copy. Rows committed after {} may not have been published, and "
          "Kafka "
          "may have events that the database lost; {}. {}",
          evidence, from.ToString(), kRecover, kForgetPositions)),
      kGapWalForked);
}

}  // namespace

void WalContinuityCheck::Know(const CommitIdentity& commit) {
  if (commit.lsn > newest_.lsn) newest_ = commit;
}

// Whoever has read all before an LSN knows the newest event there.
absl::Status WalContinuityCheck::Compare(const CommitIdentity& commit,
                                         Lsn read) const {
  if (!knows_any() || newest_.lsn >= read || commit.lsn > newest_.lsn) {
    return absl::OkStatus();
  }
  const bool is_known = commit.xid != Xid() && newest_.xid != Xid();
  const bool is_same = commit.xid == newest_.xid && commit.time == newest_.time;
  if (commit.lsn == newest_.lsn && (is_same || !is_known)) {
    return absl::OkStatus();
  }
  return Forked(
      fmt::format("this process has read an event that commits at {} "
                  "(transaction {}), and another instance, which read all "
                  "before {}, has not",
                  newest_.lsn.ToString(), newest_.xid.value(), read.ToString()),
      commit.lsn);
}

void WalContinuityCheck::Trust(Lsn lsn) { trusted_ = std::max(trusted_, lsn); }

// Postgres omits only commits before the start.
void WalContinuityCheck::Begin(Lsn from, Lsn received,
                               const CommitIdentity& covered) {
  from_ = from;
  received_ = received;
  covered_ = covered.lsn;
  has_begun_ = true;
  expected_.clear();
  if (covered.lsn < newest_.lsn) Expect(covered);
  Expect(newest_);
  is_settled_ = expected_.empty() && received <= from;
}

void WalContinuityCheck::Expect(const CommitIdentity& commit) {
  if (commit.lsn.is_valid() && commit.lsn >= from_) expected_.push_back(commit);
}

absl::Status WalContinuityCheck::OnCommit(const CommitIdentity& commit) {
  if (!has_begun_) return absl::OkStatus();
  if (!expected_.empty()) {
    const CommitIdentity& expected = expected_.front();
    if (commit.lsn < expected.lsn) return CheckKnown(commit.lsn);
    if (commit.lsn > expected.lsn) {
      return Missing(
          fmt::format("one that commits at {}", commit.lsn.ToString()));
    }
    const bool is_same =
        expected.xid == Xid() ||
        (commit.xid == expected.xid && commit.time == expected.time);
    if (!is_same) {
      return Missing(fmt::format("transaction {}", commit.xid.value()));
    }
    expected_.erase(expected_.begin());
  }
  if (commit.lsn <= newest_.lsn || commit.lsn < trusted_) {
    return absl::OkStatus();
  }
  const absl::Status known = CheckKnown(commit.lsn);
  if (!known.ok()) return known;
  newest_ = commit;
  is_settled_ = is_settled_ || commit.lsn >= received_;
  return absl::OkStatus();
}

// The events between the covered commit and the received LSN are known: there
// are none.
absl::Status WalContinuityCheck::CheckKnown(Lsn commit_lsn) const {
  const Lsn known = std::max(covered_, trusted_);
  const bool is_known = commit_lsn <= covered_ || commit_lsn < trusted_ ||
                        commit_lsn >= received_;
  if (is_known) return absl::OkStatus();
  return Forked(
      fmt::format("the WAL has an event that commits at {}, and when the WAL "
                  "before {} was read there was none after {}",
                  commit_lsn.ToString(), received_.ToString(),
                  known.ToString()),
      known);
}

absl::Status WalContinuityCheck::OnBoundary(Lsn lsn) {
  if (is_settled_) return absl::OkStatus();
  if (!expected_.empty() && lsn > expected_.front().lsn) {
    return Missing("nothing");
  }
  is_settled_ = expected_.empty() && lsn >= received_;
  return absl::OkStatus();
}

absl::Status WalContinuityCheck::Missing(const std::string& found) const {
  const CommitIdentity& missing = expected_.front();
  return Forked(
      fmt::format("transaction {}, which committed at {} and was published, is "
                  "not in the WAL any more (found {} in its place)",
                  missing.xid.value(), missing.lsn.ToString(), found),
      from_);
}

}  // namespace walpost
