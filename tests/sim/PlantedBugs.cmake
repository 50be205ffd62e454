# planted_bug(NAME SOURCE file NEEDLE text REPLACEMENT text FINDS expression
#             [KIND plain|restored|uncovered|dead_letters|parking|isolation|
#                   letters|transactions|late_table|paused|singly|backfill [FROM history]])
#
# An executable of the simulation with one bug: NEEDLE, which must stand once
# in src/SOURCE, replaced. A .cc is linked instead of the library's member; a
# header comes before the real one where the source is compiled (so only headers
# that no other part includes). The test passes when the simulation has a
# finding that the expression matches; KIND: in histories of that kind; FROM: it
# is rare, and shows a little behind this one.
function(planted_bug name)
  cmake_parse_arguments(PARSE_ARGV 1 BUG ""
    "SOURCE;NEEDLE;REPLACEMENT;FINDS;KIND;FROM" "")
  set(path ${PROJECT_SOURCE_DIR}/src/${BUG_SOURCE})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  string(FIND "${text}" "${BUG_NEEDLE}" first)
  string(FIND "${text}" "${BUG_NEEDLE}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "planted bug ${name}: its needle does not stand "
      "once in src/${BUG_SOURCE}:\n${BUG_NEEDLE}")
  endif()
  string(REPLACE "${BUG_NEEDLE}" "${BUG_REPLACEMENT}" text "${text}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/planted/${name})
  set(mutant ${folder}/${BUG_SOURCE})
  set(before "")
  if(EXISTS ${mutant})
    file(READ ${mutant} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${mutant} "${text}")
  endif()

  set(target sim_mutant_${name})
  if(mutant MATCHES "\\.h$")
    add_executable(${target} ${PROJECT_SOURCE_DIR}/src/session/wal_stream.cc)
    target_include_directories(${target} BEFORE PRIVATE ${folder})
  else()
    add_executable(${target} ${mutant})
  endif()
  target_link_libraries(${target} PRIVATE walpost_planted_bug walpost_sim)
  walpost_precompile(${target})
  add_dependencies(planted_bugs ${target})
  add_test(NAME unit.sim.mutant.${name} COMMAND ${target} "${BUG_FINDS}"
    ${BUG_KIND} ${BUG_FROM})
  set_tests_properties(unit.sim.mutant.${name} PROPERTIES
    LABELS "unit;mutant" TIMEOUT 1200)
endfunction()

# What a lost event looks like: behind it something is written or confirmed.
set(LOST "P3: .* was never there|P2: .* too early|P1: ")

# ---- P3: brokers that take records one by one.

planted_bug(does_not_wait_for_the_key
  SOURCE delivery/key_order.cc
  NEEDLE [[if (is_first) return true;]]
  REPLACEMENT [[if (is_first || found->second.size() > 3) return true;]]
  FINDS "P3: "
  KIND singly)

planted_bug(sends_the_last_of_the_key_first
  SOURCE delivery/key_order.cc
  NEEDLE [[const Sequence next = found->second.front();
  found->second.pop_front();]]
  REPLACEMENT [[const Sequence next = found->second.back();
  found->second.pop_back();]]
  FINDS "P3: "
  KIND singly)

planted_bug(forgets_who_waits_for_the_key
  SOURCE delivery/key_order.cc
  NEEDLE [[found->second.push_back(sequence);]]
  REPLACEMENT [[if (found->second.size() < 4) found->second.push_back(sequence);]]
  FINDS "P1: |hang"
  KIND singly)

# ---- P2: too early, back, by another's leave.

planted_bug(confirms_early
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[if (head_ == next_) {]]
  REPLACEMENT [[if (in_flight_records_ <= 1) {]]
  FINDS "P2: confirmed .* too early")

planted_bug(confirms_past_a_gap
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[head_ < next_ && At(head_).acknowledged; ++head_]]
  REPLACEMENT [[head_ < next_ && At(next_ - 1).acknowledged; ++head_]]
  FINDS "P2: confirmed .* too early")

planted_bug(credits_a_neighbour
  SOURCE delivery/sender.cc
  NEEDLE [[window_.Acknowledge(sequence);
  if (record == nullptr) return;]]
  REPLACEMENT [[window_.Acknowledge(sequence ^ 1);
  if (record == nullptr) return;]]
  FINDS "P2: confirmed .* too early")

planted_bug(confirms_back
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[newest_watermark_ = passed_watermark_;]]
  REPLACEMENT [[newest_watermark_ = passed_watermark_ = 0;]]
  FINDS "P2: confirmed goes back")

planted_bug(confirms_an_old_keepalive
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[if (watermark <= newest_watermark_) return;]]
  REPLACEMENT [[]]
  FINDS "P2: confirmed goes back")

planted_bug(tells_the_slot_to_go_back
  SOURCE session/feedback_schedule.h
  NEEDLE [[return confirmed < slot_ ? Lsn() : confirmed;]]
  REPLACEMENT [[return confirmed;]]
  FINDS "P2: the slot goes back")

planted_bug(bears_any_suspension
  SOURCE session/process_suspend_detector.h
  NEEDLE [[wal_sender_timeout / 2]]
  REPLACEMENT [[wal_sender_timeout * 1000]]
  FINDS "P2: .* handed over after a suspension")

# ---- P1: events that go missing.

planted_bug(skips_by_row_lsn
  SOURCE outbox/transaction_assembler.cc
  NEEDLE [[BeginEvent(options_.tables.size(), step);]]
  REPLACEMENT [[BeginEvent(options_.tables.size(), step);
  step.event.position.commit_lsn = message.lsn;]]
  FINDS "${LOST}")

planted_bug(skips_by_transaction
  SOURCE delivery/duplicate_filter.cc
  NEEDLE [[acknowledged_[passed_] == event;]]
  REPLACEMENT [[acknowledged_[passed_].position.commit_lsn == event.position.commit_lsn;]]
  FINDS "${LOST}")

planted_bug(loses_the_event_held_by_a_full_producer
  SOURCE delivery/sender.cc
  NEEDLE [[--counters_.events;  // it will be offered again
  return Offer::kBackpressure;]]
  REPLACEMENT [[return Offer::kAccepted;]]
  FINDS "${LOST}")

planted_bug(loses_an_event_that_is_offered_too_early
  SOURCE delivery/wal_progress.cc
  NEEDLE [[if (!sender_.MayTake(event, mapped)) return Offer::kBackpressure;]]
  REPLACEMENT [[if (!sender_.MayTake(event, mapped)) return Offer::kAccepted;]]
  FINDS "${LOST}")

planted_bug(takes_what_was_purged_for_sent
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[newest_ = acknowledged_;
  in_flight_records_ = 0;]]
  REPLACEMENT [[]]
  FINDS "${LOST}")

planted_bug(forgets_to_rewind
  SOURCE delivery/sender.cc
  NEEDLE [[duplicate_filter_.Add(window_.Clear());]]
  REPLACEMENT [[]]
  FINDS "P1: it hangs")

planted_bug(compares_positions_across_a_fork
  SOURCE delivery/sender.cc
  NEEDLE [[window_ = AcknowledgementWindow(window_options_);]]
  REPLACEMENT [[]]
  FINDS "P2: .* where no boundary was")

# ---- P9: a server that was restored.

planted_bug(takes_any_transaction_for_the_one_it_knows
  SOURCE delivery/wal_continuity_check.cc
  NEEDLE [[if (!is_same) {]]
  REPLACEMENT [[if (!is_same && !commit.lsn.is_valid()) {]]
  FINDS "${LOST}"
  KIND restored)

planted_bug(does_not_miss_a_commit_that_it_knows
  SOURCE delivery/wal_continuity_check.cc
  NEEDLE [[if (commit.lsn.is_valid() && commit.lsn >= from_) expected_.push_back(commit);]]
  REPLACEMENT [[if (commit.lsn.is_valid() && commit.lsn < from_) expected_.push_back(commit);]]
  FINDS "${LOST}"
  KIND restored)

planted_bug(passes_over_before_it_knows_where_it_is
  SOURCE delivery/wal_continuity_check.cc
  NEEDLE [[if (covered.lsn < newest_.lsn) Expect(covered);]]
  REPLACEMENT [[(void)covered;]]
  FINDS "${LOST}"
  KIND restored)

planted_bug(forgets_what_was_received_before
  SOURCE delivery/wal_progress.cc
  NEEDLE [[history_.Begin(from, received(), CommitOf(sender_.window().newest()));]]
  REPLACEMENT [[history_.Begin(from, confirmed(), CommitOf(sender_.window().newest()));]]
  FINDS "P2: the slot stands at"
  KIND restored)

planted_bug(confirms_a_history_that_is_not_settled
  SOURCE delivery/wal_continuity_check.cc
  NEEDLE [[is_settled_ = expected_.empty() && received <= from;]]
  REPLACEMENT [[is_settled_ = true;]]
  FINDS "P2: the slot stands at"
  KIND restored)

planted_bug(opens_a_latch_by_itself
  SOURCE checkpoint/gap_latch.cc
  NEEDLE [[if (!gap_ || !was_opened) return false;]]
  REPLACEMENT [[if (!gap_ || (was_opened && !gap_)) return false;]]
  FINDS "P9: .* nobody has ended its gap"
  KIND restored)

planted_bug(compares_lsns_across_a_promotion
  SOURCE checkpoint/continuity_state.cc
  NEEDLE [[return has_streamed_ && observed_.timeline > timeline_ &&]]
  REPLACEMENT [[return has_streamed_ && observed_.timeline > timeline_ + 1000 &&]]
  FINDS "P9: .* where there is none|${LOST}"
  KIND plain)

planted_bug(sends_again_after_a_promotion
  SOURCE checkpoint/continuity_state.cc
  NEEDLE [[checkpoint_->position.ordinal > 0 && observed_.fork &&]]
  REPLACEMENT [[false && observed_.fork &&]]
  FINDS "P5: "
  KIND transactions)

planted_bug(takes_a_checkpoint_behind_the_fork_for_what_the_server_has
  SOURCE checkpoint/continuity_state.cc
  NEEDLE [[checkpoint_->position.commit_lsn < *observed_.fork;]]
  REPLACEMENT [[true;]]
  FINDS "P9: .* where there is none|${LOST}"
  KIND transactions)

# ---- P9: rows that the publication did not send.

planted_bug(does_not_see_that_the_publication_was_altered
  SOURCE checkpoint/coverage.cc
  NEEDLE [[if (before.publication != now.publication) {]]
  REPLACEMENT [[if (OidOf(before.publication) != OidOf(now.publication)) {]]
  FINDS "P9: .* rows were not sent|P11: .* never sent"
  KIND uncovered)

planted_bug(does_not_see_that_a_table_was_taken_out
  SOURCE checkpoint/coverage.cc
  NEEDLE [[if (known == now.definition) return true;]]
  REPLACEMENT [[if (OidOf(known) == OidOf(now.definition)) return true;]]
  FINDS "P9: .* rows were not sent|P11: .* never sent"
  KIND uncovered)

planted_bug(does_not_compare_with_the_record
  SOURCE checkpoint/continuity_state.cc
  NEEDLE [[MergeCoverage(known.coverage, CoverageOf(*record, announced()));]]
  REPLACEMENT [[known.coverage;]]
  FINDS "P9: .* rows were not sent"
  KIND uncovered)

planted_bug(records_no_coverage
  SOURCE checkpoint/birth_record.cc
  NEEDLE [[if (!record.coverage.empty()) line += " coverage=" + record.coverage;]]
  REPLACEMENT [[]]
  FINDS "P9: .* rows were not sent"
  KIND uncovered)

planted_bug(lets_a_promotion_excuse_a_gap
  SOURCE checkpoint/continuity.cc
  NEEDLE [[return evidence.kind == Kind::kGap ? evidence : judged;]]
  REPLACEMENT [[return judged;]]
  FINDS "P9: .* rows were not sent"
  KIND uncovered)

planted_bug(streams_over_a_gap_on_record
  SOURCE checkpoint/continuity_state.cc
  NEEDLE [[if (latch_.gap()) return Hold(*latch_.gap());]]
  REPLACEMENT [[]]
  FINDS "P9: "
  KIND restored)

# ---- P11: rows that are deleted.

planted_bug(deletes_what_the_publication_did_not_send
  SOURCE retention/record_proof.cc
  NEEDLE [[const std::string change = is_known ? DescribeChange(known, now) : "";]]
  REPLACEMENT [[const std::string change = !is_known ? DescribeChange(known, now) : "";]]
  FINDS "P11: "
  KIND uncovered
  FROM 2700)

planted_bug(deletes_what_an_operator_gave_up
  SOURCE retention/record_proof.cc
  NEEDLE [[rule.streamed_from = record.streamed_from;]]
  REPLACEMENT [[rule.streamed_from = 1;]]
  FINDS "P11: "
  KIND uncovered)

# ---- P3 and P5: order, and what is sent again.

planted_bug(swaps_two_events
  SOURCE delivery/record_sender.cc
  NEEDLE [[absl::Status produced = sink_->Produce(*record, sequence);]]
  REPLACEMENT [[static std::string topic, key, value;
  static Sequence kept = 0;
  absl::Status produced;
  if (topic.empty() && sequence % 8 == 0) {
    topic = record->topic;
    key = record->key.value_or("");
    value = record->value.value_or("");
    kept = sequence;
  } else {
    produced = sink_->Produce(*record, sequence);
    Record late;
    late.topic = topic;
    late.key = key;
    late.value = value;
    if (!topic.empty() && sink_->Produce(late, kept).ok()) topic.clear();
  }]]
  FINDS "P3: .* came before its turn")

planted_bug(scatters_a_key
  SOURCE outbox/record_builder.cc
  NEEDLE [[record.key = event.aggregate_id;]]
  REPLACEMENT [[record.key = event.payload;]]
  FINDS "P3: .* where its key is not")

planted_bug(sends_what_was_acknowledged_out_of_turn_again
  SOURCE delivery/duplicate_filter.cc
  NEEDLE [[std::set_union(]]
  REPLACEMENT [[std::set_intersection(]]
  FINDS "P5: ")

# ---- P8: what stops the flow.

planted_bug(passes_an_undeliverable_event
  SOURCE delivery/sender_divert.cc
  NEEDLE [[      return Stop(event, std::move(reason));
    case ErrorAction::kDeadLetter:]]
  REPLACEMENT [[      return Offer::kAccepted;
    case ErrorAction::kDeadLetter:]]
  FINDS "P8: ")

planted_bug(passes_a_refused_event
  SOURCE delivery/sender.cc
  NEEDLE [[return Refuse(event, *reason);]]
  REPLACEMENT [[return reason->ok() ? Offer::kBackpressure : Offer::kAccepted;]]
  FINDS "P8: ")

planted_bug(confirms_before_the_dead_letter_is_durable
  SOURCE delivery/sender_divert.cc
  NEEDLE [[    ReportSetAside(ErrorAction::kDeadLetter, event, reason);]]
  REPLACEMENT [[    window_.Acknowledge(window_.next_sequence() - 1);]]
  FINDS "P2: .* not acknowledged"
  KIND dead_letters)

planted_bug(leaves_out_what_should_have_a_dead_letter
  SOURCE delivery/sender_divert.cc
  NEEDLE [[offer = SendDeadLetter(event, reason);]]
  REPLACEMENT [[offer = Skip(ErrorAction::kSkip, event, reason);]]
  FINDS "${LOST}|P2: .* not acknowledged"
  KIND dead_letters)

planted_bug(sets_aside_a_neighbour_of_the_culprit
  SOURCE delivery/sender.cc
  NEEDLE [[  if (!batch_bisector_.OnRejected(record.position, was_alone)) return;]]
  REPLACEMENT [[  batch_bisector_.OnRejected(record.position, was_alone);]]
  FINDS "P8: .* nothing is wrong"
  KIND dead_letters
  FROM 1150)

planted_bug(stays_stopped_after_a_rewind
  SOURCE delivery/sender.cc
  NEEDLE [[stopped_before_ = blocked_event_;
  blocked_event_.reset();]]
  REPLACEMENT [[stopped_before_ = blocked_event_;]]
  FINDS "P1: it hangs")

planted_bug(gives_up_others_with_a_rejected_record
  SOURCE delivery/sender.cc
  NEEDLE [[!awaits_commits_ || uncommitted_records_ == 1;]]
  REPLACEMENT [[true;]]
  FINDS "${LOST}"
  KIND dead_letters)

planted_bug(passes_a_withdrawn_event
  SOURCE delivery/acknowledgement_window.cc
  NEEDLE [[newest_ = before_newest_;]]
  REPLACEMENT [[]]
  FINDS "${LOST}|P8: "
  KIND dead_letters)

planted_bug(takes_a_tried_event_without_its_proof
  SOURCE delivery/wal_progress.cc
  NEEDLE [[divergence_ = history_.OnCommit(CommitOf(event.identity()));]]
  REPLACEMENT [[if (sender_.window().newest().position != event.position) {
    divergence_ = history_.OnCommit(CommitOf(event.identity()));
  }]]
  FINDS "P9: .* where there is none"
  KIND dead_letters)

# ---- Decisions of the session.

planted_bug(goes_on_with_a_producer_that_must_be_given_up
  SOURCE session/relay_session.cc
  NEEDLE [[if (was_healthy_ && !is_spent_ && !absl::IsAborted(reason_)) return Wait(now);]]
  REPLACEMENT [[if (was_healthy_ && !continuity_.gap()) return Wait(now);]]
  FINDS "P1: it hangs|P9: .* where there is none"
  KIND plain)

planted_bug(does_not_forget_what_is_void
  SOURCE session/relay_session.cc
  NEEDLE [[if (continuity_.TakeStartOver()) {]]
  REPLACEMENT [[if (continuity_.TakeStartOver() && !started_over_ && streams_ == 0) {]]
  FINDS "P[12]: |P9: "
  KIND plain)

planted_bug(does_not_rewind_what_was_given_up
  SOURCE session/relay_session.cc
  NEEDLE [[    sender_.Rewind();]]
  REPLACEMENT [[]]
  FINDS "P1: it hangs")

planted_bug(streams_on_beside_a_gap
  SOURCE session/relay_session.cc
  NEEDLE [[  found_gap_ = gap;
  stream_.Abandon();]]
  REPLACEMENT [[(void)gap;]]
  FINDS "P9: |P11: "
  KIND uncovered)

planted_bug(shuts_down_without_a_deadline
  SOURCE session/wal_stream.cc
  NEEDLE [[now >= *drain_deadline_)]]
  REPLACEMENT [[now == MonotonicTime::max())]]
  FINDS "P10: ")

planted_bug(drops_a_held_event
  SOURCE session/wal_stream.cc
  NEEDLE [[step_is_held_ = consumer_.OnEvent(step_.event, step_.error) ==
                      EventConsumer::Offer::kBackpressure;]]
  REPLACEMENT [[consumer_.OnEvent(step_.event, step_.error);]]
  FINDS "${LOST}")

planted_bug(reads_on_after_a_divergence
  SOURCE session/wal_stream.cc
  NEEDLE [[  WALPOST_RETURN_IF_ERROR(consumer_.Health());]]
  REPLACEMENT [[]]
  FINDS "P1: it hangs"
  KIND restored)

# ---- Parked events.

planted_bug(overtakes_a_parked_event
  SOURCE parking/held_keys.cc
  NEEDLE [[found == lanes_.end() || position < found->second.first)]]
  REPLACEMENT [[found == lanes_.end() || position != found->second.first)]]
  FINDS "P3: .* was never there"
  KIND parking)

planted_bug(releases_a_key_before_its_last_event_is_stored
  SOURCE parking/held_keys.cc
  NEEDLE [[entry.second.end <= stored && !waiting]]
  REPLACEMENT [[stored + 1 > 0 && !waiting]]
  FINDS "P3: .* was never there"
  KIND parking)

planted_bug(releases_a_key_in_which_events_wait
  SOURCE parking/held_keys.cc
  NEEDLE [[ && !waiting.contains(entry.first);]]
  REPLACEMENT [[ && (waiting.empty() || stored > 0);]]
  FINDS "P3: .* was never there"
  KIND parking)

planted_bug(forgets_which_keys_are_parked
  SOURCE parking/parked_keys.cc
  NEEDLE [[HoldFrom(lanes_, LaneOf(scope_, lane.aggregate_type, lane.key), lane.first);]]
  REPLACEMENT [[(void)lane;]]
  FINDS "P3: .* was never there"
  KIND parking)

planted_bug(never_releases_a_key_that_was_parked_before_the_start
  SOURCE parking/parked_keys.cc
  NEEDLE [[if (!is_shown) return lanes.Hold(lane, first.position, stored_);]]
  REPLACEMENT [[if (!is_shown) return lanes.Hold(lane, first.position, UINT64_MAX);]]
  FINDS "P1: it hangs"
  KIND parking)

planted_bug(forgets_the_keys_of_events_that_are_not_stored_yet
  SOURCE parking/parked_keys.cc
  NEEDLE [[HoldQueued(queue_[i], stored_ + i + 1);]]
  REPLACEMENT [[]]
  FINDS "P3: .* was never there"
  KIND parking)

planted_bug(confirms_before_a_parked_event_is_stored
  SOURCE delivery/sender_divert.cc
  NEEDLE [[  PutInWindow(event, bytes, error_class, Kind::kParked);]]
  REPLACEMENT [[  PutInWindow(event, bytes, error_class, Kind::kParked);
  window_.Acknowledge(window_.next_sequence() - 1);]]
  FINDS "P2: .* not acknowledged"
  KIND parking)

planted_bug(releases_events_beside_earlier_ones_in_flight
  SOURCE delivery/wal_progress.cc
  NEEDLE [[return std::max(acknowledged_through(), Position{confirmed(), 0});]]
  REPLACEMENT [[const Lsn newest = CommitOf(sender_.window().newest()).lsn;
  return newest.is_valid() ? Position{newest, UINT64_MAX}
                           : Position{confirmed(), 0};]]
  FINDS "P3: .* was never there"
  KIND parking)

# ---- Dead letters in the table.

# Stored events on their way.
planted_bug(takes_a_stored_event_for_sent_before_it_is_acknowledged
  SOURCE parking/stored_batch.cc
  NEEDLE [[  return entry.state == Entry::State::kTaken &&
         sender_.window().Find(entry.sequence) == nullptr;]]
  REPLACEMENT [[  return entry.state == Entry::State::kTaken;]]
  FINDS "${LOST}|P3"
  KIND parking)

planted_bug(a_stored_event_overtakes_one_of_its_key
  SOURCE parking/stored_batch.cc
  NEEDLE [[if (waits && !entry.key.empty()) keys.insert(entry.key);]]
  REPLACEMENT [[]]
  FINDS "P3"
  KIND isolation)

planted_bug(sends_again_what_the_ledger_has
  SOURCE parking/stored_batch.cc
  NEEDLE [[if (committed_.Has(entry.ledger)) entry.state = Entry::State::kSent;]]
  REPLACEMENT [[]]
  FINDS "P5: event .* is committed twice"
  KIND parking)

planted_bug(takes_a_stored_event_for_sent_before_its_commit
  SOURCE parking/stored_batch.cc
  NEEDLE [[  if (!options_.has_ledger) SettleAcknowledged();
  for (size_t row]]
  REPLACEMENT [[  SettleAcknowledged();
  for (size_t row]]
  FINDS "${LOST}|P3"
  KIND parking)

planted_bug(the_ledger_forgets_what_it_had_at_the_take_over
  SOURCE parking/stored_batch.cc
  NEEDLE [[committing_ = inherited_;]]
  REPLACEMENT [[committing_ = ReleaseLedger();]]
  FINDS "P5: event .* is committed twice"
  KIND parking)

planted_bug(forgets_which_letters_are_stored
  SOURCE parking/parked_keys.cc
  NEEDLE [[if (settled->fact.state != ParkedState::kReleased) return Claim::kSettled;]]
  REPLACEMENT [[if (settled->fact.state == ParkedState::kDiscarded) return Claim::kSettled;]]
  FINDS "P8: .* although its dead letter was stored"
  KIND letters)

planted_bug(confirms_before_a_letter_is_stored
  SOURCE delivery/sender_divert.cc
  NEEDLE [[  PutInWindow(event, bytes, ErrorClassOf(reason), Kind::kStoredLetter);]]
  REPLACEMENT [[  PutInWindow(event, bytes, ErrorClassOf(reason), Kind::kStoredLetter);
  window_.Acknowledge(window_.next_sequence() - 1);]]
  FINDS "P2: .* not acknowledged"
  KIND letters)

# ---- Isolated topics.

planted_bug(overtakes_an_event_of_an_isolated_topic
  SOURCE parking/parked_keys.cc
  NEEDLE [[if (!Holds(topics_, topic, event, digest)) return Claim::kFree;]]
  REPLACEMENT [[if (!Holds(topics_, topic, event, digest) || queue_.empty()) {
    return Claim::kFree;
  }]]
  FINDS "P3: .* was never there"
  KIND isolation)

planted_bug(forgets_which_topics_are_isolated
  SOURCE parking/parked_keys.cc
  NEEDLE [[HoldFrom(topics_, topic, span.first);]]
  REPLACEMENT [[(void)topic;
    (void)span;]]
  FINDS "P3: .* was never there|P1: it hangs"
  KIND isolation)

planted_bug(releases_a_topic_although_events_of_a_released_key_wait_for_it
  SOURCE parking/parked_keys.cc
  NEEDLE [[if (!topics_.Contains(topic)) topics_.Hold(topic, Position(), stored_);]]
  REPLACEMENT [[(void)topic;]]
  FINDS "P3: .* was never there|P1: it hangs"
  KIND isolation)

planted_bug(asks_for_room_for_what_is_stored_already
  SOURCE parking/parked_keys.cc
  NEEDLE [[position <= found->second.last;]]
  REPLACEMENT [[position < found->second.first.position;]]
  FINDS "P1: it hangs"
  KIND isolation)

# ---- Transactions.

planted_bug(commits_with_records_in_flight
  SOURCE delivery/transaction_batcher.cc
  NEEDLE [[return !is_in_flight && !MustGoOn();]]
  REPLACEMENT [[return (!is_in_flight || is_closed_) && !MustGoOn();]]
  FINDS "P5: "
  KIND transactions)

planted_bug(keeps_what_was_not_committed
  SOURCE session/relay_session.cc
  NEEDLE [[} else if (in_transactions()) {]]
  REPLACEMENT [[} else if (in_transactions() && poison_.times() > 1) {]]
  FINDS "P1: |P3: .* was never there|P2: "
  KIND transactions)

planted_bug(begins_another_stream_with_a_spent_producer
  SOURCE session/relay_session.cc
  NEEDLE [[is_spent_ = in_transactions();]]
  REPLACEMENT [[is_spent_ = false;]]
  FINDS "P5: |P1: |P3: "
  KIND transactions)

planted_bug(takes_an_abort_for_a_commit
  SOURCE checkpoint/checkpoint_writer.cc
  NEEDLE [[if (status.ok()) {
    saved_ = saving_;]]
  REPLACEMENT [[if (status.ok() || batcher_ != nullptr) {
    saved_ = saving_;]]
  FINDS "P2: .* too early|P1: |P2: the slot"
  KIND transactions)

planted_bug(confirms_what_is_not_committed
  SOURCE session/gated_consumer.cc
  NEEDLE [[std::min({progress_.confirmable(), stored, passed_over_.limit()});]]
  REPLACEMENT [[batcher_ != nullptr ? progress_.confirmable() : std::min(progress_.confirmable(), stored);]]
  FINDS "P2: the slot stands"
  KIND transactions)

planted_bug(releases_beside_a_transaction_that_is_open
  SOURCE checkpoint/checkpoint_writer.cc
  NEEDLE [[if (batcher_ == nullptr) return progress_.settled_through();]]
  REPLACEMENT [[if (batcher_ == nullptr || batcher_->has_records()) return progress_.settled_through();]]
  FINDS "P3: |P1: "
  KIND parking)

# ---- Tables that come later.

planted_bug(confirms_past_rows_that_are_not_on_record
  SOURCE session/gated_consumer.cc
  NEEDLE [[std::min({progress_.confirmable(), stored, passed_over_.limit()});]]
  REPLACEMENT [[std::min(progress_.confirmable(), stored);]]
  FINDS "P9: a row of a new table"
  KIND late_table)

planted_bug(stores_a_checkpoint_without_what_was_passed_over
  SOURCE checkpoint/checkpoint_writer.cc
  NEEDLE [[saving_.coverage = WithPassedOver(saved_.coverage, saving_passed_over_);]]
  REPLACEMENT [[]]
  FINDS "P9: a row of a new table"
  KIND late_table)

planted_bug(forgets_what_was_passed_over_before
  SOURCE checkpoint/coverage.cc
  NEEDLE [[now.passed_over = before.passed_over;]]
  REPLACEMENT [[]]
  FINDS "P9: a row of a new table"
  KIND late_table)

planted_bug(does_not_merge_what_was_passed_over
  SOURCE checkpoint/coverage.cc
  NEEDLE [[merged.passed_over.Add(before.passed_over);]]
  REPLACEMENT [[]]
  FINDS "P9: a row of a new table"
  KIND late_table)

planted_bug(takes_up_a_table_that_was_passed_over
  SOURCE checkpoint/coverage.cc
  NEEDLE [[if (since && *since < resumes_at)]]
  REPLACEMENT [[if (since && *since > resumes_at)]]
  FINDS "P9: a row of a new table"
  KIND late_table)

planted_bug(notes_no_row_behind_a_part_that_is_repeated
  SOURCE session/wal_stream.cc
  NEEDLE [[if (consumer_.OnPassedOver(step_.relation)) {
        assembler_->PassOver(step_.relation.oid);
      }]]
  REPLACEMENT [[consumer_.OnPassedOver(step_.relation);
      assembler_->PassOver(step_.relation.oid);]]
  FINDS "P9: a row of a new table"
  KIND late_table)

# ---- Pauses.

planted_bug(sends_while_paused
  SOURCE session/gated_consumer.cc
  NEEDLE [[if (!MayTake()) return Offer::kBackpressure;]]
  REPLACEMENT [[if (batcher_ != nullptr && !batcher_->MayTake()) {
    return Offer::kBackpressure;
  }]]
  FINDS "paused: event .* is sent"
  KIND paused)

# ---- Rows that do not come through the slot.

planted_bug(takes_a_row_for_done_before_it_is_acknowledged
  SOURCE backfill/table_backfill.cc
  NEEDLE [[place_.OnAcknowledged(sender_.window().passed_watermark());]]
  REPLACEMENT [[place_.OnAcknowledged(ordinal_);]]
  FINDS "P1: row .* is lost"
  KIND backfill)

planted_bug(counts_a_row_that_is_not_taken_yet
  SOURCE backfill/table_backfill.cc
  NEEDLE [[event_.position = {Lsn(), ordinal_ + 1};]]
  REPLACEMENT [[event_.position = {Lsn(), ++ordinal_};]]
  FINDS "P1: row .* is lost"
  KIND backfill)

planted_bug(keeps_the_rows_of_a_sink_that_was_replaced
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  // Watermarks of the next sink say nothing about rows of this one.
  place_.StartScan();]]
  REPLACEMENT [[]]
  FINDS "P1: row .* is lost"
  KIND backfill)

planted_bug(sends_again_what_was_acknowledged_at_the_place
  SOURCE backfill/table_backfill.cc
  NEEDLE [[if (place_.WasAcknowledged(key_, content_)) return;]]
  REPLACEMENT [[]]
  FINDS "P5: row .* is sent again"
  KIND backfill)

planted_bug(commits_rows_that_are_in_flight
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  } else if (!sender_.IsDrained()) {
    return Do::kWait;
  } else if (options_.ledger) {]]
  REPLACEMENT [[  } else if (!options_.ledger && !sender_.IsDrained()) {
    return Do::kWait;
  } else if (options_.ledger) {]]
  FINDS "P1: |P5: "
  KIND backfill)

planted_bug(trusts_its_memory_and_not_the_ledger
  SOURCE backfill/table_backfill.cc
  NEEDLE [[progress_ = is_ours ? std::move(progress) : SnapshotProgress();]]
  REPLACEMENT [[if (is_ours && !committed_) progress_ = std::move(progress);]]
  FINDS "P5: row .* is committed twice"
  KIND backfill)

planted_bug(continues_where_the_ledger_of_another_slot_ends
  SOURCE backfill/table_backfill.cc
  NEEDLE [[const bool is_ours = progress.begins_at == *options_.ledger;]]
  REPLACEMENT [[const bool is_ours = progress.begins_at <= *options_.ledger;]]
  FINDS "P1: row .* is lost"
  KIND backfill)

planted_bug(goes_on_after_a_commit_that_is_not_known
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  is_loaded_ = false;
  End(std::move(status));]]
  REPLACEMENT [[  End(std::move(status));]]
  FINDS "P5: row .* is committed twice"
  KIND backfill)

planted_bug(sends_rows_that_the_stream_has
  SOURCE backfill/snapshot_flow.cc
  NEEDLE [[options_.has_ledger && shows_ == Shows::kPresent;]]
  REPLACEMENT [[options_.has_ledger && shows_ == Shows::kAllBeforeSlot;]]
  FINDS "P5: row .* comes with the stream, too"
  KIND backfill)

planted_bug(sets_the_last_row_aside_for_another
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  if (refused && refused->position == last_position_ &&
      !refused->is_of_dead_letter && sender_.Passes(refused->reason)) {]]
  REPLACEMENT [[  if (refused && !refused->is_of_dead_letter &&
      sender_.Passes(refused->reason)) {]]
  FINDS "P8: row .* is set aside, and nothing is wrong with it|P1: "
  KIND backfill)

planted_bug(passes_a_row_that_cannot_be_delivered
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  if (sender_.stoppage()) return Undeliverable(*sender_.stoppage());]]
  REPLACEMENT [[  if (sender_.stoppage()) {
    Handled();
    has_row_ = false;
    return absl::OkStatus();
  }]]
  FINDS "P1: |P8: "
  KIND backfill)

planted_bug(tries_a_lone_row_for_ever_with_a_ledger
  SOURCE backfill/table_backfill.cc
  NEEDLE [[needs_sink && !may_commit ? Health() : absl::OkStatus();]]
  REPLACEMENT [[!needs_sink || may_commit ? absl::OkStatus()
      : options_.ledger && !is_stopped_ ? *sender_.sink_failure()
                                        : Health();]]
  FINDS "P1: it hangs"
  KIND backfill)

planted_bug(sends_a_row_while_paused
  SOURCE backfill/table_backfill.cc
  NEEDLE [[  } else if (!may_send) {]]
  REPLACEMENT [[  } else if (!may_send && !has_row_) {]]
  FINDS "paused: a row is sent"
  KIND backfill)

planted_bug(records_before_the_rows_are_sent
  SOURCE backfill/snapshot_flow.cc
  NEEDLE [[next_ = all_sent_ ? Do::kRecord : Do::kBegin;]]
  REPLACEMENT [[next_ = is_blocked_ || all_sent_ ? Do::kRecord : Do::kBegin;]]
  FINDS "P1: row .* is lost|P8: row .* is passed"
  KIND backfill)

planted_bug(takes_another_slot_for_its_own
  SOURCE backfill/snapshot_flow.cc
  NEEDLE [[  if (absl::IsAborted(status)) all_sent_ = false;]]
  REPLACEMENT [[]]
  FINDS "P1: "
  KIND backfill)
