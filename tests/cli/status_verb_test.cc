// walpost status: each value of /status in its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/relay_status_fixture.h"
#include "cli/verb_fixture.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;

class StatusVerbTest : public testing::VerbFixture {};

TEST_F(StatusVerbTest, EachValueIsInItsPlace) {
  Answer(SomeStatus());
  const Outcome ended = Run("status");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(state      streaming, for 90 s
slot       walpost, system 7312345678901234567, timeline 3
server at  16/B374D948
received   16/B374D8A8
published  event 4 of the transaction at 16/B374D878
confirmed  16/B374D848, 256 B behind the server
WAL kept   32.0 MiB of 64.0 MiB, extended
checkpoint 16/B374D840, event 2 of the transaction at 16/B374D838
           file x
restart    reads from 16/B374D840, 104 B before what is received
replay     from 16/B3000000 (slot walpost_guard), 7.3 MiB before the confirmed LSN
guarantee  at_least_once
in flight  12 of 20000 records, 3.4 KiB of 16.0 MiB
records    87 acknowledged, 4 not delivered, 2 repeats skipped
set aside  15 dead letters, 31 events skipped
parked     3 keys with 41 events, the oldest for 720 s
isolated   orders, with 5 events, the oldest for 70 s
since      6 reconnects, 5 rewinds
latency    p50 0.1 ms, p99 148291.0 ms from commit to acknowledgement
)");
}

TEST_F(StatusVerbTest, APollerHasItsTables) {
  RelayStatus status = SomeStatus();
  status.polled_tables.resize(2);
  status.polled_tables[0].pending = 5;
  status.polled_tables[1].pending = 6;
  status.polled_tables[0].failed = 2;
  Answer(status);
  const Outcome ended = Run("status");
  EXPECT_THAT(ended.out, HasSubstr("rows       11 pending, 2 failed\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("slot ")));
}

TEST_F(StatusVerbTest, WhatIsNotReadyHasAnotherExitCode) {
  RelayStatus status = SomeStatus();
  status.state = RelayState::kStuck;
  status.reason = "no such topic: walpost check -c FILE";
  status.stoppage.emplace();
  status.stoppage->position = {Lsn(0x400), 7};
  status.stoppage->event_id = "i7";
  status.parking = {};
  status.acknowledged = {};
  status.checkpoint_store.reset();
  status.guard_lsn.reset();
  status.confirmed = Lsn(status.server_wal_end.value() - 1023);
  status.in_flight_bytes = 1024;
  Answer(status);
  const Outcome ended = Run("status");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_EQ(ended.out, R"(state      stuck, for 90 s
           no such topic: walpost check -c FILE
stopped    before the event at 0/400/7, id i7
slot       walpost, system 7312345678901234567, timeline 3
server at  16/B374D948
received   16/B374D8A8
published  none
confirmed  16/B374D549, 1023 B behind the server
WAL kept   32.0 MiB of 64.0 MiB, extended
restart    reads from 16/B374D840, 104 B before what is received
guarantee  at_least_once
in flight  12 of 20000 records, 1.0 KiB of 16.0 MiB
records    87 acknowledged, 4 not delivered, 2 repeats skipped
set aside  15 dead letters, 31 events skipped
parked     0 keys with 0 events, the oldest for 0 s
since      6 reconnects, 5 rewinds
latency    p50 0.1 ms, p99 148291.0 ms from commit to acknowledgement
)");
}

TEST_F(StatusVerbTest, AStandbyDoesNotKnowTheRest) {
  RelayStatus status = SomeStatus();
  status.system_identifier.clear();
  Answer(status);
  EXPECT_THAT(Run("status").out,
              HasSubstr("slot       walpost: the rest is known when this "
                        "instance streams\nguarantee"));
}

TEST_F(StatusVerbTest, JsonIsAsThePageIs) {
  Answer(SomeStatus());
  const Outcome ended = Run("status --json");
  EXPECT_EQ(ended.exit_code, kExitOk);
  EXPECT_THAT(ended.out, StartsWith("{"));
  EXPECT_THAT(ended.out, HasSubstr("\"slot\": \"walpost\""));
}

TEST_F(StatusVerbTest, NobodyAnswers) {
  Set("http.listen", "127.0.0.1:1");
  const Outcome ended = Run("status");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.err,
              HasSubstr("no walpost answers at http.listen 127.0.0.1:1"));
  EXPECT_THAT(ended.out, IsEmpty());
}

}  // namespace
}  // namespace walpost
