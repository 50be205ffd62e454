// What each verb refuses before it asks a server, and with which exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb_fixture.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using ::testing::StartsWith;

class CommandLineTest : public testing::VerbFixture {};

struct Refused {
  std::string line;   // behind `walpost`; FILE is put behind the verb
  std::string words;  // of the one line on stderr
};

TEST_F(CommandLineTest, WhatCannotBeMeantIsRefusedAndTouchesNothing) {
  const std::vector<Refused> cases = {
      {"run --from-lsn 0", "--from-lsn: '0' is not an LSN"},
      {"run --from-lsn 0/0", "--from-lsn: '0/0' is not an LSN"},
      {"run --from-lsn", "--from-lsn"},
      {"tail --count 0", "'0' is not a number of 1 or more"},
      {"tail --count -1", "'-1' is not a number of 1 or more"},
      {"tail --count 1x", "'1x' is not a number of 1 or more"},
      {"verify --wait 86401", "'86401' is not a number from 0 to 86400"},
      {"verify --wait -1", "'-1' is not a number from 0 to 86400"},
      {"verify --read-committed --read-uncommitted", "excludes"},
      {"verify --table other",
       "--table other: is not in outbox.tables "
       "(public.outbox)"},
      {"recover --accept --force", "excludes"},
      {"recover --accept --all", "excludes"},
      {"recover --accept --since 1h", "excludes"},
      {"recover --accept --expired", "excludes"},
      {"recover --accept --order-by id", "excludes"},
      {"replay",
       "where to begin? --from-lsn, --from-checkpoint, --since or "
       "--from-table"},
      {"replay --from-lsn 0/1 --from-checkpoint x",
       "--from-lsn and --from-checkpoint are two places to begin at"},
      {"replay --from-lsn 1", "--from-lsn: '1' is not an LSN"},
      {"replay --from-lsn 0/1 --to-lsn z", "--to-lsn: 'z' is not an LSN"},
      {"replay --from-checkpoint /nowhere/x",
       "--from-checkpoint /nowhere/x: the file cannot be read"},
      {"replay --from-checkpoint /dev/null", "--from-checkpoint /dev/null: "},
      {"replay --from-lsn 0/1 --rate 0", "--rate 0: a number of records"},
      {"replay --from-lsn 0/1 --rate 5/m", "--rate 5/m: a number of records"},
      {"replay --from-lsn 0/1 --rate 1000000001",
       "--rate 1000000001: a number of records"},
      {"replay --from-lsn 0/1 --from-table", "excludes"},
      {"replay --from-table --to-lsn 0/1", "excludes"},
      {"replay --from-table --from-checkpoint x", "excludes"},
      {"replay --table public.outbox", "requires"},
      {"replay --missing", "requires"},
      {"replay --ids x", "requires"},
      {"replay --aggregate x", "requires"},
      {"replay --where x", "requires"},
      {"replay --order-by x", "requires"},
      {"replay --from-table --expired", "requires"},
      {"replay --from-table --work-directory x", "requires"},
      {"replay --from-table --missing --topic-prefix x",
       "--missing compares rows with their own topics"},
      {"replay --from-table --rate x", "--rate x: a number of records"},
      {"replay --from-table --table public.outbux",
       "--table public.outbux: outbox.tables does not list it, did you mean "
       "public.outbox?; it lists public.outbox"},
      {"replay --from-table --ids /nowhere/x",
       "--ids /nowhere/x: the file cannot be read"},
      {"replay --from-table --ids /dev/null",
       "--ids /dev/null: the file has no id; write one per line"},
      {"wait", "wait: for what? --lsn LSN"},
      {"wait --lsn x", "--lsn: 'x' is not an LSN"},
      {"wait --lsn 0/1 --timeout soon", "--timeout: "},
      {"wait --lsn 0/1 --event 7", "excludes"},
      {"prune", "the age is missing: set --older-than 7d"},
      {"prune --older-than soon", "--older-than: "},
      {"prune --older-than 7d --pause soon", "--pause: "},
      {"prune --older-than 7d --batch 0",
       "'0' is not a number from 1 to "
       "100000"},
      {"prune --older-than 7d --batch 100001", "'100001' is not a number"},
      {"prune --older-than 7d --assume-sent-before 2026-01-31",
       "--assume-sent-before 2026-01-31: give a time with its zone"},
      {"skip", "POSITION is required"},
      {"skip 0/1/1", "--why is required"},
      {"skip 0/1 --why x", "is not a position"},
      {"dead-letter 0/1 --why x", "is not a position"},
      {"dead-letters", "ACTION is required"},
      {"dead-letters delete",
       "'delete' is not one of list, show, retry, discard"},
      {"dead-letters list --dry-run", "are for retry and discard"},
      {"dead-letters list --out-of-order", "are for retry and discard"},
      {"dead-letters show --why x", "are for retry and discard"},
      {"dead-letters list --by x", "are for retry and discard"},
      {"dead-letters list --class x", "--class: 'x' is not a class"},
      {"dead-letters list --since x", "--since x: a time is expected"},
      {"dead-letters list --before x", "--before x: a time is expected"},
      {"dead-letters discard --why x", "dead-letters discard: which ones?"},
      {"dead-letters discard --all", "dead-letters discard: --why is missing"},
      {"dead-letters retry --all --out-of-order", "--why is missing"},
      {"dead-letters retry --id 1 --why x", "add --out-of-order"},
      {"parked", "ACTION is required"},
      {"parked drop", "'drop' is not one of list, show, release"},
      {"parked list --class x", "--class: 'x' is not a class"},
      {"parked list --position 0/1", "is not a position"},
      {"parked list --why x", "--why and --by are for decisions"},
      {"parked show --by x", "--why and --by are for decisions"},
      {"parked release --why x", "parked release: which ones?"},
      {"parked discard --all", "parked discard: --why is missing"},
      {"parked accept", "parked accept: --why is missing"},
      {"parked accept --all --why x", "it is about the table"},
      {"parked accept --id 1 --why x", "it is about the table"},
      {"parked accept --key 1 --why x", "it is about the table"},
      {"status", "http.listen is not set"},
      {"init --role", "--role"},
      {"init --admin nonsense", "--admin: "},
      {"init --admin dbname=other",
       "--admin: it connects to database other, "
       "and postgres.conninfo to d"},
  };
  for (const Refused& refused : cases) {
    const Outcome ended = Run(refused.line);
    EXPECT_EQ(ended.exit_code, kExitUsage) << refused.line;
    EXPECT_THAT(ended.err, StartsWith("walpost: ")) << refused.line;
    EXPECT_THAT(ended.err, HasSubstr(refused.words)) << refused.line;
    EXPECT_THAT(ended.out, IsEmpty()) << refused.line;
  }
  EXPECT_EQ(server_.connections(), 0u);
}

TEST_F(CommandLineTest, EachVerbNamesTheEndThatIsMissing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run", "kafka.brokers"},
      {"check", "kafka.brokers"},
      {"verify", "kafka.brokers"},
      {"recover", "kafka.brokers"},
      {"replay --from-lsn 0/1", "kafka.brokers"},
      {"dead-letters list", "kafka.brokers is missing"},
      {"run", "postgres.conninfo"},
      {"check", "postgres.conninfo"},
      {"verify", "postgres.conninfo"},
      {"recover", "postgres.conninfo"},
      {"replay --from-lsn 0/1 --dry-run", "postgres.conninfo"},
      {"init", "postgres.conninfo"},
      {"tail", "postgres.conninfo"},
      {"pause", "postgres.conninfo"},
      {"resume", "postgres.conninfo"},
      {"prune --older-than 1d", "postgres.conninfo"},
      {"skip 0/1/1 --why x", "postgres.conninfo"},
      {"dead-letter 0/1/1 --why x", "postgres.conninfo"},
      {"parked list", "postgres.conninfo"},
  };
  Set("kafka.brokers", "");
  for (const auto& [line, key] : cases) {
    if (key == "postgres.conninfo") {
      Set("kafka.brokers", kafka_.brokers());
      Set("postgres.conninfo", "");
    }
    const Outcome ended = Run(line);
    EXPECT_EQ(ended.exit_code, kExitUsage) << line;
    EXPECT_THAT(ended.err, HasSubstr(key)) << line;
  }
}

TEST_F(CommandLineTest, WhatNeedsTheWalIsRefusedForAPoller) {
  Set("source", "polling");
  Set("polling.strategy", "delete");
  Set("postgres.slot", "");
  Set("postgres.publication", "");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run --from-lsn 0/1", "--from-lsn is for source: wal"},
      {"init --failover", "--failover is for source: wal"},
      {"tail", "tail is for source: wal"},
      {"recover", "recover is for source: wal"},
      {"replay --from-lsn 0/1", "replay from the WAL is for source: wal"},
      {"skip 0/1/1 --why x", "is for source: wal"},
      {"dead-letter 0/1/1 --why x", "is for source: wal"},
      {"parked list", "walpost parked is for source: wal"},
      {"prune --older-than 1d --assume-sent-before 1d",
       "--assume-sent-before is for source: wal"},
  };
  for (const auto& [line, words] : cases) {
    const Outcome ended = Run(line);
    EXPECT_EQ(ended.exit_code, kExitUsage) << line << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(words)) << line;
  }
  EXPECT_EQ(server_.connections(), 0u);
}

TEST_F(CommandLineTest, TheFirstWordIsAVerb) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{},
       "walpost: which verb? One of run, check, init, status, tail, "
       "shadow, verify, replay, recover, pause, resume, skip, dead-letter, "
       "dead-letters, parked, prune, config, wait, import-debezium, version, "
       "man, completion; "
       "see "
       "walpost --help\n"},
      {{"-c"},
       "walpost: -c: options come after the verb, as in walpost run -c "
       "walpost.yaml; see walpost --help\n"},
      {{"chekc"},
       "walpost: 'chekc' is not a verb; did you mean check? See "
       "walpost --help\n"},
      {{"verify", "--what"}, "see walpost verify --help\n"},
  };
  for (const auto& [words, line] : cases) {
    const Outcome ended = RunWords(words);
    EXPECT_EQ(ended.exit_code, kExitUsage) << line;
    EXPECT_THAT(ended.err, HasSubstr(line));
  }
}

TEST_F(CommandLineTest, HelpIsNoError) {
  const std::vector<std::vector<std::string>> cases = {
      {"-h"}, {"--help"}, {"--version"}, {"verify", "--help"}, {"version"}};
  for (const std::vector<std::string>& words : cases) {
    const Outcome ended = RunWords(words);
    EXPECT_EQ(ended.exit_code, kExitOk) << words[0];
    EXPECT_THAT(ended.out, Not(IsEmpty())) << words[0];
    EXPECT_THAT(ended.err, IsEmpty()) << words[0];
  }
}

TEST_F(CommandLineTest, AFileThatCannotBeReadIsAnErrorOfUsage) {
  for (const char* verb : {"run", "check", "init", "status", "tail", "verify",
                           "recover", "pause", "resume", "prune"}) {
    const Outcome ended = RunWords({verb, "-c", "/nowhere/walpost.yaml"});
    EXPECT_EQ(ended.exit_code, kExitUsage) << verb;
    EXPECT_THAT(ended.err, HasSubstr("/nowhere/walpost.yaml")) << verb;
  }
}

TEST_F(CommandLineTest, TheConfigurationIsPrintedWithItsOverrides) {
  const Outcome ended = RunWords(
      {"run", "-c", file(), "--print-config", "--set", "postgres.slot=other"});
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("slot: other"));
  EXPECT_EQ(server_.connections(), 0u);
}

TEST_F(CommandLineTest, RunJudgesValuesBeforeItStarts) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"http.listen", "127.0.0.1", "http.listen"},
      {"route.topic", "'{no_such'", "route.topic"},
  };
  for (const auto& [key, value, words] : cases) {
    Set(key, value);
    const Outcome ended = Run("run --print-config");
    EXPECT_EQ(ended.exit_code, kExitUsage) << key;
    EXPECT_THAT(ended.err, HasSubstr(words)) << key;
    Set(key, "");
  }
}

// Each verb's options, their defaults and what excludes what: a change of the
// command line is a change of this.
TEST_F(CommandLineTest, TheManualPageAndTheCompletionNameEachVerb) {
  const Outcome page = RunWords({"man"});
  const Outcome script = RunWords({"completion"});
  EXPECT_EQ(page.exit_code, kExitOk);
  EXPECT_EQ(script.exit_code, kExitOk);
  for (const char* verb : {"run", "check", "init", "dead\\-letters", "prune"}) {
    EXPECT_THAT(page.out, HasSubstr(fmt::format(".SS walpost {}\n", verb)));
  }
  EXPECT_THAT(page.out,
              HasSubstr(".TP\n.B \\-c,\\-\\-config TEXT\nConfiguration file "
                        "(YAML); else the one that WALPOST_CONFIG names"));
  EXPECT_THAT(page.out, HasSubstr("(10)."));
  EXPECT_THAT(page.out, HasSubstr("With \\-\\-from\\-table."));
  EXPECT_THAT(page.out, HasSubstr("Not with \\-\\-accept."));
  EXPECT_THAT(script.out,
              HasSubstr("      tail)\n        words=\"-h --help -c --config "
                        "--set --count\"\n        values=\"-c --config --set "
                        "--count\"\n        ;;\n"));
}

}  // namespace
}  // namespace walpost
