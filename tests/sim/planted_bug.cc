// Checks that the simulation finds the bug planted into this executable:
//
//   sim_mutant_confirms_early 'P2: .* too early'
//   sim_mutant_does_not_miss_a_commit_that_it_knows 'P1: ' restored
//   sim_mutant_sets_aside_a_neighbour_of_the_culprit 'P8: ' dead_letters 1150
//
//   sim_mutant_takes_no_survey 'P5: ' backfill
//
// runs histories, always the same ones (in the second form all of that kind, in
// the third from that one on), until one of them stops with a finding that the
// expression matches. Other findings on the way are expected: a lost event may
// be seen as a gap, or as a hang. Fails if kMaxSteps were not enough.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>

#include "sim/backfill_simulation.h"
#include "sim/simulation.h"

namespace walpost::sim {
namespace {

constexpr uint64_t kStepsPerHistory = 5'000;
constexpr uint64_t kMaxSteps = 40'000'000;

template <typename Simulation>
std::string Outcome(Simulation simulation) {
  simulation.Run(kStepsPerHistory);
  std::string result = std::to_string(simulation.steps());
  if (!simulation.finding()) return result;
  return result + " " + simulation.finding()->promise + ": " +
         simulation.finding()->text;
}

// Runs a history in a separate process, because the planted bug may abort it.
// Returns its output: the steps, then the finding. nullopt: of a backfill.
std::string RunApart(uint64_t seed, std::optional<Trouble> trouble) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const std::string result = trouble ? Outcome(Simulation(seed, *trouble))
                                       : Outcome(BackfillSimulation(seed));
    const ssize_t written = write(ends[1], result.data(), result.size());
    _exit(written < 0 ? 1 : 0);
  }
  close(ends[1]);
  char buffer[512];
  const ssize_t length = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return {buffer, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

int Search(const std::regex& wanted, std::span<const Trouble> troubles,
           uint64_t first_seed) {
  uint64_t steps = 0;
  uint64_t others = 0;
  for (uint64_t seed = first_seed; steps < kMaxSteps; ++seed) {
    std::optional<Trouble> trouble;
    if (!troubles.empty()) trouble = troubles[seed % troubles.size()];
    const std::string result = RunApart(seed, trouble);
    const uint64_t taken = std::strtoull(result.c_str(), nullptr, 10);
    steps += taken > 0 ? taken : kStepsPerHistory;
    if (std::regex_search(result, wanted)) {
      std::printf("found after %llu steps, in history %llu, %llu others: %s\n",
                  static_cast<unsigned long long>(steps),
                  static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(others), result.c_str());
      return 0;
    }
    if (result.empty() || result.find(' ') != std::string::npos) {
      if (others++ < 5) {
        std::printf("other: %s\n",
                    result.empty() ? "it ended by itself" : result.c_str());
      }
    }
  }
  std::printf("not found in %llu steps\n",
              static_cast<unsigned long long>(steps));
  return 1;
}

}  // namespace
}  // namespace walpost::sim

int main(int argc, char** argv) {
  using walpost::sim::Trouble;
  constexpr Trouble kAll[] = {
      Trouble::kNone,     Trouble::kUndeliverable, Trouble::kRefused,
      Trouble::kRestored, Trouble::kUncovered,     Trouble::kDeadLetters,
      Trouble::kParking,  Trouble::kIsolation,     Trouble::kTransactions,
      Trouble::kLetters,  Trouble::kLateTable,     Trouble::kPaused,
      Trouble::kSingly,   Trouble::kReplays};
  constexpr std::string_view kNames[] = {
      "plain",        "undeliverable", "refused",   "restored",     "uncovered",
      "dead_letters", "parking",       "isolation", "transactions", "letters",
      "late_table",   "paused",        "singly",    "replays"};
  // The last five only by name.
  std::span<const Trouble> troubles = std::span(kAll).first(9);
  for (size_t i = 0; argc > 2 && i < std::size(kNames); ++i) {
    if (kNames[i] == argv[2]) troubles = std::span(kAll).subspan(i, 1);
  }
  if (argc > 2 && argv[2] == std::string_view("backfill")) troubles = {};
  const bool is_known = argc == 2 || troubles.size() <= 1;
  if (argc < 2 || argc > 4 || !is_known) {
    std::fprintf(stderr, "usage: %s EXPRESSION [KIND OF HISTORY [FIRST]]\n",
                 argv[0]);
    return 2;
  }
  const uint64_t first = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 1;
  return walpost::sim::Search(std::regex(argv[1]), troubles, first);
}
