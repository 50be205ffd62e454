// The status page: asks for /status once a second, and shows it.

import {Chart} from "./charts.js";
import {fillFacts, fillTable, find, keep, make, set, write} from "./dom.js";
import * as format from "./format.js";
import {History} from "./history.js";
import {drawPolledTables, drawPositions} from "./positions.js";
import {render, sectionsFor, sectionsOf, titleOf} from "./remedy.js";

const INTERVAL = 1000;  // ms
const TIMEOUT = 5000;
const FEW = 10;         // rows of a table before the button

// Shape and colour of a state: /readyz says whether it is ready.
const KINDS = {
  "streaming": "good", "catching up": "slow", "degraded": "slow", "at risk": "risk",
  "paused": "held", "stuck": "bad", "starting": "calm", "standby": "calm",
  "draining": "none", "no answer": "none",
};
const SHAPES = {
  good: "M4 13l5 5L20 6", slow: "M12 4L22 20H2ZM12 10v4M12 17v.2",
  risk: "M12 4L22 20H2ZM12 10v4M12 17v.2", held: "M8 4v16M16 4v16",
  bad: "M8 2h8l6 6v8l-6 6H8l-6-6V8ZM9 9l6 6M15 9l-6 6",
  calm: "M12 2a10 10 0 100 20a10 10 0 100-20M12 7v5l3 3", none: "M4 20L20 4M12 2a10 10 0 100 20a10 10 0 100-20",
};
const ICON_COLOURS = {good: "#17784a", slow: "#b57a10", risk: "#d05a1c", bad: "#b91c28",
                      held: "#5546bd", calm: "#2f6ea5", none: "#777"};

const history = new History();
let charts = null;

function makeCharts(isPolling) {
  const chart = (...words) => new Chart(find("charts"), ...words);
  return [
    chart("Records acknowledged", [{name: "rate", label: "by Kafka"}], format.rate),
    chart("Commit to acknowledgement", [{name: "p50", label: "median"},
                                       {name: "p99", label: "99 %"}], format.seconds),
    isPolling
        ? chart("Oldest row that waits", [{name: "oldest", label: "since it was written"}],
               format.seconds)
        : chart("Lag", [{name: "lag", label: "reading"},
                       {name: "oldest", label: "oldest unpublished"}], format.seconds),
    chart("Records in flight", [{name: "records", label: "to Kafka"}], format.count),
    chart("Bytes sent", [{name: "bytes", label: "of values"}], format.byteRate, 1024),
    isPolling
        ? chart("Rows that wait", [{name: "pending", label: "in all tables"}], format.count)
        : chart("Not confirmed", [{name: "behind", label: "of WAL, to its end"}],
               format.bytes, 1024),
  ];
}

const now = () => performance.now() / 1000;
let runbook = null;       // its sections, once they are there
let answeredAt = null;    // the last answer
let silentSince = now();
let announced = "";
const isShownWhole = {topics: false, tables: false};

function show(status) {
  history.add(status, now());
  showState(status.state, status);
  showRemedies(status);
  showPositions(status);
  showMeters(status);
  charts ??= makeCharts(status.source === "polling");
  for (const chart of charts) chart.draw(history.samples);
  if (find("minutes").open) showMinutes();
  showTopics(status);
  showTables(status);
  showAside(status);
  showFacts(status);
  showWarnings(status);
  write(find("version"), `walpost ${status.version}`);
  write(find("source"), status.source === "polling" ? "source: polling"
      : `slot ${status.slot}` + (status.server_version
          ? ` · PostgreSQL ${format.serverVersion(status.server_version)}` : ""));
  find("main").hidden = false;
}

function showState(state, status) {
  const kind = KINDS[state] ?? "none";
  set(document.body, "data-kind", kind);
  set(find("shape").firstElementChild, "d", SHAPES[kind]);
  write(find("state"), state);
  write(find("since"), status ? `for ${format.duration(status.in_state_seconds)}` : "");
  write(find("reason"), status?.reason ?? "");
  find("reason").hidden = !status?.reason;
  const title = [state, status?.slot, "walpost"].filter(Boolean).join(" · ");
  if (document.title !== title) document.title = title;
  showIcon(kind);
  announce(state, status);
}

function showIcon(kind) {
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 28 28"><path d="${
      SHAPES[kind]}" fill="none" stroke="${ICON_COLOURS[kind]}" stroke-width="4"/></svg>`;
  set(find("icon"), "href", "data:image/svg+xml," + encodeURIComponent(picture));
}

// For screen readers: a change of the state, not each second.
function announce(state, status) {
  const which = `${state} ${status?.reason_code ?? ""}`;
  if (which === announced) return;
  announced = which;
  write(find("announcement"), `State: ${state}. ${status?.reason ?? ""}`);
}

function showRemedies(status) {
  const sections = runbook ? sectionsFor(status).filter((name) => runbook.has(name)) : [];
  find("remedies").hidden = sections.length === 0;
  const codes = [status.reason_code, status.stopped_reason_code,
                 ...Object.keys(status.dead_letters_by_class)].filter(Boolean);
  keep(find("remedy-list"),
       sections.map((name) => [`${name} ${codes.join()}`, name]),
       (key, name) => make(
           "details", {class: "remedy"},
           make("summary", {}, titleOf(name) + " ", make("span", {class: "id"}, name)),
           ...render(name, runbook.get(name), codes)),
       () => {});
  const first = find("remedy-list").firstElementChild;
  if (first && !status.ready && first.opened !== true) first.open = first.opened = true;
}

function showPositions(status) {
  const isPolling = status.source === "polling";
  write(find("positions-title"), isPolling ? "Rows that wait" : "Position in the WAL");
  const draw = isPolling ? drawPolledTables : drawPositions;
  write(find("positions-note"), draw(find("ruler"), find("scale"), status));
}

function showMeters(status) {
  const meters = [
    ["Records in flight", status.in_flight_records, status.max_in_flight_records,
     format.count, status.in_flight_records
         ? `The oldest was committed ${format.seconds(status.oldest_in_flight_seconds)} ago.`
         : "Nothing is in flight."],
    ["Bytes in flight", status.in_flight_bytes, status.max_in_flight_bytes, format.bytes, ""],
  ];
  if (status.wal_budget_bytes > 0 && status.retained_wal_bytes != null) {
    const left = status.wal_budget_seconds_left;
    meters.push(["WAL kept for the slot", status.retained_wal_bytes, status.wal_budget_bytes,
                 format.bytes, `Slot: ${status.wal_status ?? "not seen"}.` +
                 (left == null ? "" : ` At this growth it is full in ${format.duration(left)}.`)]);
  }
  if (status.max_topics > 0) {
    meters.push(["Topics", status.topics, status.max_topics, format.count, ""]);
  }
  keep(find("meters"), meters, (name) => {
    const bar = make("div", {class: "bar", role: "meter", "aria-label": name,
                             "aria-valuemin": 0}, make("div"));
    return make("div", {class: "meter"},
                make("p", {}, make("span", {}, name), make("span")), bar,
                make("p", {class: "note"}));
  }, (node, name, value, most, text, note) => {
    const [head, bar, foot] = node.children;
    const words = `${text(value)} of ${text(most)}`;
    write(head.lastChild, words);
    set(bar, "aria-valuenow", Math.min(value, most));
    set(bar, "aria-valuemax", most);
    set(bar, "aria-valuetext", words);
    bar.firstChild.hidden = !value;
    bar.firstChild.style.width = `${most > 0 ? Math.min(100, 100 * value / most) : 0}%`;
    write(foot, note);
    foot.hidden = !note;
  });
}

function showMinutes() {
  const isPolling = history.samples.at(-1).status.source === "polling";
  const columns = [
    ["Minutes ago", ({minute}) => `${minute}–${minute + 1}`],
    ["Acknowledged", (row) => format.rate(row.rate)],
    ["Sent", (row) => format.byteRate(row.bytes)],
    ["Median", (row) => format.seconds(row.p50)],
    ["99 %", (row) => format.seconds(row.p99)],
    ["Oldest unpublished", (row) => format.seconds(row.oldest)],
    ["In flight", (row) => format.rounded(row.records)],
    ...(isPolling ? [["Rows that wait", (row) => format.rounded(row.pending)]]
                  : [["Lag", (row) => format.seconds(row.lag)],
                     ["Not confirmed", (row) => format.bytes(row.behind)]]),
  ];
  fillTable(find("minutes").querySelector("table"), columns.map(([head]) => head),
            history.minutes().map(
                (row) => [row.minute, ...columns.map(([, text]) => text(row))]));
}

// Names with their counts: the largest first, in an order that seldom changes.
function showCounts(id, counts, note) {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const shown = isShownWhole[id] ? rows : rows.slice(0, FEW);
  const member = `records_by_${id.slice(0, -1)}`;
  write(find(`${id}-note`), note);
  find(id).hidden = rows.length === 0;
  fillTable(find(id), ["Name", "Records", "Now"], shown.map(([name, value]) => [
    name, name, format.count(value),
    format.rate(history.recent((status) => status[member][name]))]));
  const more = find(`${id}-more`);
  more.hidden = rows.length <= FEW;
  write(more, isShownWhole[id] ? `Show the first ${FEW}` : `Show all ${rows.length}`);
}

function showTopics(status) {
  showCounts("topics", status.records_by_topic,
             status.topics === 0 ? "No record has gone out since this start."
                                 : "Records acknowledged since the producer was made.");
}

function showTables(status) {
  const counts = Object.keys(status.records_by_table).length;
  showCounts("tables", status.records_by_table,
             counts ? "Records handed to the producer since this start."
                    : "No row has been read since this start.");
}

function showAside(status) {
  const wait = (number, age) => number ? `, the oldest for ${format.duration(age)}` : "";
  const facts = [
    ["Parked keys", status.parked_keys
        ? `${format.plural(status.parked_keys, "key")} with ${
            format.plural(status.parked_events, "event")}${
            wait(status.parked_keys, status.oldest_parked_seconds)}` : "none",
     status.parked_keys],
    ["Isolated topics", status.isolated_topics.length
        ? `${status.isolated_topics.join(", ")}: ${
            format.plural(status.isolated_events, "event")} (${
            format.bytes(status.isolated_bytes)})${
            wait(status.isolated_events, status.oldest_isolated_seconds)}` : "none",
     status.isolated_topics.length],
    ["Dead letters", status.dead_letters
        ? `${format.count(status.dead_letters)} since this start: ${
            Object.entries(status.dead_letters_by_class)
                .map(([name, value]) => `${name} ${format.count(value)}`).join(", ")}`
        : "none since this start", status.dead_letters],
    ["Left out", status.events_left_out
        ? `${format.plural(status.events_left_out, "event")} since this start`
        : "none since this start", status.events_left_out],
    ["Stopped before", status.stopped_event_id || status.stopped_position
        ? `event ${status.stopped_event_id ?? ""} ${status.stopped_position ?? ""}${
            status.stopped_table ? ` of table ${status.stopped_table}` : ""} (${
            status.stopped_reason_code})` : "nothing", status.stopped_reason_code],
  ];
  if (status.source === "polling") {
    facts.push(["Rows given up", format.count(status.failed_rows), status.failed_rows]);
  }
  for (const table of status.retention ?? []) {
    facts.push([`Retention of ${table.table}`,
                `${format.plural(table.pruned_rows, "row")} deleted, ${
                    format.count(table.kept_rows)} old ones kept`, table.kept_rows]);
  }
  fillFacts(find("aside"), facts);
}

function showFacts(status) {
  const facts = [
    ["Brokers", `${format.count(status.brokers_connected)} connected` +
        (status.brokers_heard_age_seconds == null ? ""
            : `, heard ${format.duration(status.brokers_heard_age_seconds)} ago`)],
    ["Guarantee", status.guarantee.replaceAll("_", " ")],
    ["Producers replaced", format.count(status.rewinds)],
    ["Reconnects to Postgres", format.count(status.reconnects)],
    ["Events received", `${format.count(status.events)} with ${
        format.plural(status.repeats, "repeat")}`],
    ["Transactions", format.count(status.transactions)],
  ];
  if (status.guarantee === "exactly_once") {
    facts.push(["Kafka transactions", `${
        format.count(status.kafka_transactions_committed)} committed, ${
        format.count(status.kafka_transactions_given_up)} given up`]);
  }
  if (status.source === "wal") {
    facts.push(["Slot last seen", status.slot_report_age_seconds == null ? "not yet"
        : `${format.duration(status.slot_report_age_seconds)} ago`],
               ["Checkpoint store", status.checkpoint_store ?? "none"],
               ["Server", `system ${status.system_identifier || "–"}, timeline ${
                   status.timeline || "–"}`]);
  }
  facts.push(["Running for", format.duration(status.running_seconds)]);
  fillFacts(find("facts"), facts);
}

// Ages by the relay's own clock.
function showWarnings(status) {
  const newest = status.warnings.toReversed();
  write(find("warnings-note"), newest.length ? "Times are UTC." : "None since this start.");
  keep(find("warnings"),
       newest.map((line, place) => [`${line.time} ${place - newest.length} ${line.text}`, line]),
       (key, line) => make("li", {}, make("time", {datetime: line.time}, line.time.slice(11, 19)),
                           make("span", {class: `level ${line.level}`}, line.level),
                           make("p", {}, line.text)),
       (node, key, line) => set(node.firstChild, "title", `${line.time}, ${format.duration(
           (Date.parse(status.time) - Date.parse(line.time)) / 1000)} ago`));
}

// ---- Asking.

async function get(path) {
  const answer = await fetch(path, {signal: AbortSignal.timeout(TIMEOUT), cache: "no-store"});
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer;
}

async function ask() {
  try {
    const status = await (await get("status")).json();
    if (!runbook) runbook = sectionsOf(await (await get("runbook")).text());
    answeredAt = now();
    silentSince = null;
    document.body.classList.remove("stale");
    show(status);
    write(find("answer"), `${status.time.slice(11, 19)} UTC`);
  } catch (failure) {
    history.interrupt();
    silentSince ??= answeredAt ?? now();
    showSilence();
    if (!(failure instanceof DOMException || failure instanceof TypeError)) {
      console.warn(String(failure));
    }
  }
}

function showSilence() {
  if (answeredAt == null && now() - silentSince < 3) return;
  document.body.classList.add("stale");
  const last = history.samples.at(-1)?.status;
  showState("no answer", null);
  write(find("since"), `since ${format.duration(now() - silentSince)}`);
  write(find("reason"), last ? `It was ${last.state} when it answered last. ` +
      "The figures below are of then. This page goes on asking." : "This page goes on asking.");
  find("reason").hidden = false;
  write(find("answer"), last ? `last answer ${last.time.slice(11, 19)} UTC` : "");
}

async function askForever() {
  for (;;) {
    await ask();
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, INTERVAL);
      // A tab that comes back to the front is asked for at once.
      document.onvisibilitychange = () => {
        if (document.hidden) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

async function showConfig() {
  const text = find("config").querySelector("pre");
  if (!find("config").open) return;
  try {
    write(text, await (await get("config")).text());
  } catch (failure) {
    write(text, `It cannot be read: ${failure.message}`);
  }
}

find("config").addEventListener("toggle", showConfig);
find("minutes").addEventListener("toggle", () => {
  if (find("minutes").open && history.samples.length > 0) showMinutes();
});
for (const id of ["topics", "tables"]) {
  find(`${id}-more`).addEventListener("click", () => {
    isShownWhole[id] = !isShownWhole[id];
    const status = history.samples.at(-1).status;
    (id === "topics" ? showTopics : showTables)(status);
  });
}
askForever();
