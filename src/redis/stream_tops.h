// StreamTops: how far the streams with acknowledged entries reach, across
// several sinks and, through the checkpoint, several processes.
//
// A stream that has not reached an acknowledged entry was deleted, or is that
// of an older copy: from a backup, or from a replica that lacked the entry. The
// server compares them before it writes (append_entries.lua).
//
// Owned by whoever replaces the sinks; outlives them. Pure.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redis/entry_id.h"

namespace walpost {

class StreamTops {
 public:
  // Maximum number of streams that are kept for a checkpoint, which stays
  // small, and in memory.
  static constexpr size_t kMaxStored = 64;
  static constexpr size_t kMax = 10'000;

  // The id of the newest acknowledged entry; empty: none is known.
  std::string NewestOf(std::string_view stream) const;
  // An entry was acknowledged, when the stream had reached `newest`.
  void OnAcknowledged(std::string_view stream, EntryId newest);
  // Events up to this id are being repeated at the end of the stream
  // (append_entries.lua): the next sink goes on with that. Empty: none are.
  std::string RepeatedOf(std::string_view stream) const;
  void SetRepeated(std::string_view stream, std::string_view id);
  // True once for each stream: it had passed the place of events.
  bool IsFirstDisplacement(std::string_view stream);
  // The stream has not reached what was acknowledged.
  void OnBehind(std::string_view stream, std::string_view newest);

  // "orders=24023128-1048576,...": the first kMaxStored streams by name
  // (topic_text.h).
  const std::string& text() const;
  // Adds what a text knows. Skips parts that do not parse.
  void Add(std::string_view text);
  // Takes over what `other` knows of a stream.
  void Add(const StreamTops& other, std::string_view stream);

  // The streams that a checkpoint has.
  std::vector<std::string> Streams() const;

  // The first loss that OnBehind was told of, with the remedy; or empty.
  const std::string& replaced() const { return replaced_; }
  void Forget();

 private:
  std::map<std::string, EntryId, std::less<>> tops_;
  std::map<std::string, std::string, std::less<>> repeated_;
  std::set<std::string, std::less<>> displaced_;
  std::string replaced_;
  mutable std::string text_;
  mutable bool is_spelt_ = true;
};

}  // namespace walpost
