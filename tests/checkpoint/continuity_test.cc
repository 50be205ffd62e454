// P9: a gap is never papered over.
#include "checkpoint/continuity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/kafka_cluster.h"
#include "delivery/gap.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Kind = Continuity::Kind;

KnownSource Known() {
  return {.by = KnownSource::By::kCheckpoint,
          .system_identifier = "7",
          .timeline = 2,
          .birth = Lsn(0x10),
          .confirmed = Lsn(0x500)};
}

ObservedSource Observed() {
  ObservedSource observed;
  observed.system_identifier = "7";
  observed.timeline = 2;
  observed.wal_end = Lsn(0x900);
  observed.slot = ObservedSource::Slot{.confirmed = Lsn(0x400)};
  return observed;
}

void ExpectGap(const KnownSource& known, const ObservedSource& observed,
               const std::string& name, const std::string& words) {
  const Continuity judged = JudgeContinuity(known, observed, "orders");
  EXPECT_EQ(judged.kind, Kind::kGap);
  EXPECT_EQ(judged.gap, name);
  EXPECT_THAT(judged.text, HasSubstr(words));
  EXPECT_THAT(judged.text, HasSubstr("walpost recover"));
}

Kind KindOf(const KnownSource& known, const ObservedSource& observed) {
  return JudgeContinuity(known, observed, "orders").kind;
}

TEST(ContinuityTest, KnowsNothingAtTheFirstStart) {
  EXPECT_EQ(KindOf({}, Observed()), Kind::kFirstStart);
  ObservedSource without_slot = Observed();
  without_slot.slot.reset();
  EXPECT_EQ(KindOf({}, without_slot), Kind::kFirstStart);
}

TEST(ContinuityTest, GoesOnWhereTheSlotIsAtOrBeforeWhatIsKnown) {
  EXPECT_EQ(KindOf(Known(), Observed()), Kind::kGoOn);
  ObservedSource at = Observed();
  at.slot->confirmed = Lsn(0x500);
  EXPECT_EQ(KindOf(Known(), at), Kind::kGoOn);
}

TEST(ContinuityTest, P9AnotherCluster) {
  ObservedSource observed = Observed();
  observed.system_identifier = "8";
  ExpectGap(Known(), observed, "other_cluster", "system 8");
  ExpectGap(Known(), observed, "other_cluster", "--accept");
  ExpectGap(Known(), observed, "other_cluster", kForgetPositions);
}

TEST(ContinuityTest, AnotherClusterWithoutTheSlotHasNoneToContinueWith) {
  ObservedSource observed = Observed();
  observed.system_identifier = "8";
  observed.slot.reset();
  ExpectGap(Known(), observed, "other_cluster", "make a new slot");
  observed.slot.emplace().is_lost = true;
  ExpectGap(Known(), observed, "other_cluster", "make a new slot");
}

TEST(ContinuityTest, P9AnOlderTimeline) {
  ObservedSource observed = Observed();
  observed.timeline = 1;
  ExpectGap(Known(), observed, "timeline_diverged", "timeline 1");
  ExpectGap(Known(), observed, "timeline_diverged", kForgetPositions);
}

TEST(ContinuityTest, P9AMissingSlotEvenForABirthRecord) {
  ObservedSource observed = Observed();
  observed.slot.reset();
  ExpectGap(Known(), observed, "slot_missing", "after 0/500");
  KnownSource birth = Known();
  birth.by = KnownSource::By::kBirthRecord;
  birth.confirmed = Lsn();
  ExpectGap(birth, observed, "slot_missing", "since walpost last ran");
}

TEST(ContinuityTest, P9ALostSlot) {
  ObservedSource observed = Observed();
  observed.slot->is_lost = true;
  ExpectGap(Known(), observed, "slot_lost", "orders is lost");
}

TEST(ContinuityTest, P9ASlotThatSomebodyElseAdvanced) {
  ObservedSource observed = Observed();
  observed.slot->confirmed = Lsn(0x501);
  ExpectGap(Known(), observed, "slot_advanced",
            "after 0/500 and before 0/501 may not have been published");
}

TEST(ContinuityTest, ABirthRecordCannotTellWhetherASlotWasAdvanced) {
  KnownSource birth = Known();
  birth.by = KnownSource::By::kBirthRecord;
  birth.confirmed = Lsn();
  EXPECT_EQ(KindOf(birth, Observed()), Kind::kGoOn);
}

TEST(ContinuityTest, AnotherInstanceThatWasSeenMayHaveAdvancedTheSlot) {
  KnownSource known = Known();
  known.by = KnownSource::By::kThisProcess;
  ObservedSource observed = Observed();
  observed.slot->confirmed = Lsn(0x501);
  ExpectGap(known, observed, "slot_advanced", "somebody else advanced");
  known.slot_was_shared = true;
  EXPECT_EQ(KindOf(known, observed), Kind::kGoOn);
}

TEST(ContinuityTest, P9DefinitionsThatChanged) {
  for (const auto by :
       {KnownSource::By::kCheckpoint, KnownSource::By::kThisProcess,
        KnownSource::By::kBirthRecord}) {
    KnownSource known = Known();
    known.by = by;
    if (by == KnownSource::By::kBirthRecord) known.confirmed = Lsn();
    known.coverage = "16390:742,public.outbox=16385.r16394:745";
    ObservedSource observed = Observed();
    observed.coverage = known.coverage;
    EXPECT_EQ(KindOf(known, observed), Kind::kGoOn);
    observed.coverage = "16390:742,public.outbox=16385.r16999:800";
    ExpectGap(known, observed, "coverage_changed", "walpost verify");
    observed.coverage = "16390:800o7,public.outbox=16385.r16394:745";
    const Continuity owner = JudgeContinuity(known, observed, "orders");
    EXPECT_EQ(owner.kind, Kind::kGoOn);
    EXPECT_THAT(owner.text, HasSubstr("another owner"));
    known.coverage.clear();  // of an older release
    EXPECT_EQ(KindOf(known, observed), Kind::kGoOn);
  }
}

TEST(ContinuityTest, P9AnotherKafka) {
  KnownSource known = Known();
  known.kafka_cluster = "one";
  ObservedSource observed = Observed();
  EXPECT_EQ(KindOf(known, observed), Kind::kGoOn);  // not known yet
  observed.kafka_cluster = "one";
  EXPECT_EQ(KindOf(known, observed), Kind::kGoOn);
  observed.kafka_cluster = "two";
  ExpectGap(known, observed, "kafka_replaced", "kafka.brokers");
}

TEST(ContinuityTest, P9AServerThatWasRestoredFromABackup) {
  ObservedSource observed = Observed();
  observed.wal_end = Lsn(0x4FF);
  ExpectGap(Known(), observed, "server_behind", "ends at 0/4FF");
}

TEST(ContinuityTest, FollowsAPromotionWithASlotFromBeforeTheFork) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x450);
  const Continuity judged = JudgeContinuity(Known(), observed, "orders");
  EXPECT_EQ(judged.kind, Kind::kFollowPromotion);
  EXPECT_THAT(judged.text, HasSubstr("between 0/450 and 0/500 was lost"));
  observed.fork = Lsn(0x500);
  EXPECT_THAT(JudgeContinuity(Known(), observed, "orders").text,
              Not(HasSubstr("was lost")));
}

TEST(ContinuityTest, P9APromotionWithASlotThatWasMadeLater) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x3FF);
  ExpectGap(Known(), observed, "slot_not_kept", "was promoted");
}

// Patroni's permanent slots, and those of a server before 17.
TEST(ContinuityTest, P9ASlotOfAStandbyIsTakenOnlyWhereItIsBehindUs) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x800);
  KnownSource known = Known();
  known.by = KnownSource::By::kThisProcess;
  EXPECT_EQ(KindOf(known, observed), Kind::kFollowPromotion);
  observed.slot->confirmed = Lsn(0x600);  // made there, ahead of us
  ExpectGap(known, observed, "slot_not_kept", "was promoted");
  observed.slot->failover = true;
  EXPECT_EQ(KindOf(known, observed), Kind::kFollowPromotion);
}

TEST(ContinuityTest, P9ABirthRecordTrustsOnlyAFailoverSlotAfterAPromotion) {
  KnownSource known = Known();
  known.by = KnownSource::By::kBirthRecord;
  known.confirmed = Lsn();
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x350);
  ExpectGap(known, observed, "slot_not_kept", "was promoted");
  observed.slot->failover = true;
  EXPECT_EQ(KindOf(known, observed), Kind::kFollowPromotion);
}

// Another instance has followed the promotion, and has confirmed more.
TEST(ContinuityTest, AFailoverSlotMayBeFurtherThanThisProcessKnows) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x3FF);
  KnownSource known = Known();
  known.by = KnownSource::By::kThisProcess;
  ExpectGap(known, observed, "slot_not_kept", "was promoted");
  observed.slot->failover = true;
  EXPECT_EQ(KindOf(known, observed), Kind::kFollowPromotion);
}

TEST(ContinuityTest, P9WithoutTheForkOnlyAFailoverSlotIsTrusted) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  ExpectGap(Known(), observed, "slot_not_kept", "was promoted");
  observed.slot->failover = true;
  EXPECT_EQ(KindOf(Known(), observed), Kind::kFollowPromotion);
}

TEST(ContinuityTest, P9APromotionWithASlotAheadOfUs) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x800);
  observed.slot->confirmed = Lsn(0x600);
  ExpectGap(Known(), observed, "slot_advanced", "somebody else advanced it");
}

TEST(ContinuityTest, FollowsAPromotionWithASlotExactlyWhereWeConfirmed) {
  ObservedSource observed = Observed();
  observed.timeline = 3;
  observed.fork = Lsn(0x700);
  observed.slot->confirmed = Known().confirmed;
  EXPECT_EQ(KindOf(Known(), observed), Kind::kFollowPromotion);
  observed.slot->confirmed = Lsn(Known().confirmed.value() + 1);
  EXPECT_EQ(KindOf(Known(), observed), Kind::kGap);
}

TEST(ContinuityTest, P9BrokersThatReportNoClusterMayBeOthers) {
  EXPECT_THAT(DescribeOtherBrokers("known", kUnnamedCluster).value_or(""),
              HasSubstr("report no cluster id"));
  EXPECT_EQ(DescribeOtherBrokers("", kUnnamedCluster), std::nullopt);
  EXPECT_EQ(DescribeOtherBrokers(kUnnamedCluster, kUnnamedCluster),
            std::nullopt);
  EXPECT_THAT(
      DescribeOtherBrokers(kUnnamedCluster, "named by now").value_or(""),
      HasSubstr("it is not known"));
}

// The sink was changed: the checkpoint is of NATS, say, and Redis answers.
TEST(ContinuityTest, P9BrokersOfAnotherKindDoNotHaveTheEvents) {
  const char* const kKinds[] = {kUnnamedCluster, kUnnamedNats, kUnnamedRabbitmq,
                                kUnnamedRedis};
  for (const char* known : kKinds) {
    for (const char* observed : kKinds) {
      const bool is_other = DescribeOtherBrokers(known, observed).has_value();
      EXPECT_EQ(is_other, std::string_view(known) != observed)
          << known << " " << observed;
    }
    for (const std::string named : {"named", "rabbitmq:named"}) {
      const bool may_have_it =
          std::string_view(known) ==
          (named == "named" ? kUnnamedCluster : kUnnamedRabbitmq);
      for (const auto& text : {DescribeOtherBrokers(named, known),
                               DescribeOtherBrokers(known, named)}) {
        EXPECT_THAT(text.value_or(""),
                    HasSubstr(may_have_it ? "it is not known whether"
                                          : "is not in these brokers"))
            << known;
      }
    }
    EXPECT_TRUE(IsUnnamedCluster(known));
  }
  EXPECT_FALSE(IsUnnamedCluster("unnamed-but-named-so"));
}

TEST(ContinuityTest, OtherBrokersAreFoundByTheKeyOfTheSinkAlone) {
  const std::map<std::string, std::string> keys = {
      {kUnnamedCluster, "kafka.brokers"},  {"cluster-id", "kafka.brokers"},
      {kUnnamedNats, "nats.servers"},      {kUnnamedRabbitmq, "rabbitmq.nodes"},
      {"rabbitmq:shop", "rabbitmq.nodes"}, {kUnnamedRedis, "redis.address"}};
  for (const auto& [observed, key] : keys) {
    for (const auto& [known, ignored] : keys) {
      const auto text = DescribeOtherBrokers(known, observed);
      if (!text) continue;
      EXPECT_THAT(*text, HasSubstr(key)) << known;
      for (const auto& [other_id, other] : keys) {
        if (other == key) continue;
        EXPECT_THAT(*text, Not(HasSubstr(other)));
      }
    }
  }
}

TEST(ContinuityTest, ARabbitmqThatGotItsNameIsAccepted) {
  const auto text = DescribeOtherBrokers(kUnnamedRabbitmq, "rabbitmq:shop");
  EXPECT_THAT(text.value_or(""), HasSubstr("cluster shop of RabbitMQ"));
  EXPECT_THAT(text.value_or(""), HasSubstr("set_cluster_name), stop walpost, "
                                           "run walpost recover -c FILE "
                                           "--accept"));
}

// To read a queue is to take its messages: recover cannot compare.
TEST(ContinuityTest, RemediesForRabbitmqDoNotReadItBack) {
  for (const bool has_slot : {true, false}) {
    ObservedSource observed = Observed();
    observed.kafka_cluster = kUnnamedRabbitmq;
    observed.slot->confirmed = Lsn(0x600);
    if (!has_slot) observed.slot.reset();
    const std::string text = JudgeContinuity(Known(), observed, "orders").text;
    EXPECT_THAT(text, HasSubstr("recover -c FILE --since TIME"));
    EXPECT_THAT(text, Not(HasSubstr("--dry-run")));
  }
}

TEST(ContinuityTest, RemediesForCoverageInRabbitmqDoNotReadItBack) {
  KnownSource known = Known();
  ObservedSource observed = Observed();
  observed.kafka_cluster = kUnnamedRabbitmq;
  for (const char* before :
       {"16388:690,public.outbox=16385.r16394:691,*=passed.16400@0/64",
        "16388:700,public.outbox=16385.r16394:691"}) {
    known.coverage = before;
    observed.coverage =
        "16388:690,public.outbox=16385.r16394:691,public.more=16400.r16401:692";
    const Continuity judged = JudgeContinuity(known, observed, "orders");
    ASSERT_EQ(judged.kind, Kind::kGap) << before;
    EXPECT_THAT(judged.text, HasSubstr("--since TIME"));
    EXPECT_THAT(judged.text, HasSubstr("recover -c FILE --accept"));
    EXPECT_THAT(judged.text, Not(HasSubstr("--missing")));
    EXPECT_THAT(judged.text, Not(HasSubstr("verify")));
    EXPECT_THAT(judged.text, Not(HasSubstr("by itself")));
  }
}

TEST(ContinuityTest, ALostSlotHasTheReasonThatTheServerGives) {
  for (const auto& [reason, part] : std::map<std::string, std::string>{
           {"", "the server removed WAL that it needed"},
           {"wal_removed", "invalidation_reason wal_removed"},
           {"rows_removed", "vacuum removed rows"},
           {"wal_level_insufficient", "wal_level of the primary"},
           {"idle_timeout", "idle_replication_slot_timeout"},
           {"conflicting", "(conflicting)"},
           {"one_of_later", "invalidation_reason one_of_later"}}) {
    EXPECT_NE(DescribeInvalidation(reason).find(part), std::string::npos)
        << DescribeInvalidation(reason);
  }
}

}  // namespace
}  // namespace walpost
