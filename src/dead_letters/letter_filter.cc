#include "dead_letters/letter_filter.h"

#include "fmt/format.h"

namespace walpost {
namespace {

bool IsPlace(const LetterPlace& place, const std::string& text) {
  return text == ToString(place) ||
         text == fmt::format("{}/{}", place.partition, place.offset);
}

}  // namespace

bool LetterFilter::Matches(const DeadLetterIndex::Entry& entry) const {
  return (!place || IsPlace(entry.place, *place)) &&
         MatchesContent(entry.letter);
}

bool LetterFilter::MatchesContent(const DeadLetter& letter) const {
  return (!id || letter.id == *id) && (!key || letter.aggregate_id == *key) &&
         (!error_class || letter.error_class == *error_class) &&
         (!topic || letter.topic == *topic) &&
         (!since || letter.commit_time >= *since) &&
         (!before || letter.commit_time < *before);
}

}  // namespace walpost
