// StandbyHold: whether the server holds the stream back until its standbys have
// what it would send (synchronized_standby_slots, PostgreSQL 17 and newer).
//
// It waits without end and says so in warnings alone, again whenever it hears
// from us.
//
// Pure: it is told the time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/time.h"

namespace walpost {

class StandbyHold {
 public:
  // Whether that is what a warning is about, in any language.
  static bool IsMeant(std::string_view warning) {
    return warning.find("synchronized_standby_slots") != warning.npos;
  }

  void OnWarning(std::string_view warning, MonotonicTime now) {
    if (!IsOn(now)) since_ = now;
    said_at_ = now;
    text_ = warning;
  }
  // Something came, or the stream is another.
  void Clear() { said_at_ = {}; }

  // For how long; zero: it does not.
  std::chrono::milliseconds Length(MonotonicTime now) const {
    if (!IsOn(now)) return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
  }
  // Why, in the server's words.
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
