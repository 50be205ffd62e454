#include "dead_letters/dead_letter_index.h"

#include <utility>

#include "fmt/format.h"

namespace walpost {

std::string ToString(const LetterPlace& place) {
  return fmt::format("{}/{}/{}", place.topic, place.partition, place.offset);
}

absl::Status DeadLetterIndex::Add(const LetterPlace& place,
                                  const Record& record) {
  const auto at_place = [&place](const absl::Status& status) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", ToString(place), std::string(status.message())));
  };
  auto letter = ReadDeadLetter(record);
  if (!letter.ok()) return at_place(letter.status());
  if (*letter) {
    AddLetter(place, *std::move(*letter));
    return absl::OkStatus();
  }
  const auto decision = ReadLetterDecision(record);
  if (!decision.ok()) return at_place(decision.status());
  if (*decision) AddDecision(place, **decision);
  return absl::OkStatus();
}

void DeadLetterIndex::AddLetter(const LetterPlace& place, DeadLetter letter) {
  Entry entry;
  entry.place = place;
  entry.payload_size = letter.payload ? letter.payload->size() : 0;
  if (letter.payload && !letter.payload_bytes) {
    entry.payload = Sha256(*letter.payload);
  }
  entry.digest = DigestOf(letter);
  letter.payload.reset();
  entry.letter = std::move(letter);
  const auto [found, is_new] =
      entry_of_.emplace(IdentityOf(entry), entries_.size());
  entry_at_[place] = found->second;
  if (is_new) {
    entries_.push_back(std::move(entry));
    return;
  }
  Entry& known = entries_[found->second];
  known.place = place;
  ++known.copies;
}

void DeadLetterIndex::AddDecision(const LetterPlace& place,
                                  const DeadLetterResolution& decision) {
  const auto found =
      entry_at_.find({place.topic, place.partition, decision.offset});
  if (found == entry_at_.end()) return;  // its letter was deleted
  Entry& entry = entries_[found->second];
  if (entry.letter.position.empty()) {
    // The row was tried again since.
    if (entry.place.offset > decision.offset) return;
    entry_of_.erase(IdentityOf(entry));
  }
  entry.decision = decision;
}

DeadLetterIndex::Identity DeadLetterIndex::IdentityOf(const Entry& entry) {
  const DeadLetter& letter = entry.letter;
  if (letter.position.empty()) {
    return {entry.digest, "", entry.place.topic, entry.place.partition};
  }
  // Its timeline is the one on which it was streamed last.
  std::string position = letter.position.substr(letter.position.find('-') + 1);
  if (letter.id) position = position.substr(0, position.rfind('-'));
  return {entry.digest, std::move(position), "", -1};
}

}  // namespace walpost
