// StandbyWait: detects that the server holds the stream back until its standbys
// have the same WAL (synchronized_standby_slots, PostgreSQL 17 and newer).
//
// It waits without limit and reports this only in warnings, again whenever it
// receives a message from us.
//
// Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/time.h"

namespace walpost {

class StandbyWait {
 public:
  // True if a warning is about this, in any language.
  static bool IsMeant(std::string_view warning) {
    return warning.find("synchronized_standby_slots") != warning.npos;
  }

  void OnWarning(std::string_view warning, MonotonicTime now) {
    if (!IsOn(now)) since_ = now;
    said_at_ = now;
    text_ = warning;
  }
  // Data has arrived, or a new stream begins.
  void Clear() { said_at_ = {}; }

  // Duration of the hold; zero: none.
  std::chrono::milliseconds Length(MonotonicTime now) const {
    if (!IsOn(now)) return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
  }
  // The reason, in the server's words.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::chrono::seconds kSaidAgainWithin{10};

  bool IsOn(MonotonicTime now) const {
    return said_at_ != MonotonicTime() && now - said_at_ < kSaidAgainWithin;
  }

  std::string text_;
  MonotonicTime since_{};
  MonotonicTime said_at_{};
};

}  // namespace walpost
