// Where each LSN is: how far it lies behind the end of the WAL, on a logarithmic
// scale, for bytes and terabytes alike. With source: polling, the rows of each
// table that wait.

import {keep, make, set, write} from "./dom.js";
import * as format from "./format.js";

const KIB = 1024;
const MARKS = [[KIB, "1 KiB"], [KIB ** 2, "1 MiB"], [KIB ** 3, "1 GiB"], [KIB ** 4, "1 TiB"]];
const SMALLEST = 64;  // bytes that can be seen

// items: {name, value, far, why, share}: share 0 is at the right end, 1 at the left.
function draw(list, items) {
  keep(list, items.map((item) => [item.name, item]), (name) => {
    const reach = make("span", {class: "reach"});
    return make("li", {}, make("span", {class: "name"}, name), make("span", {class: "lsn"}),
                make("span", {class: "track", "aria-hidden": "true"}, reach),
                make("span", {class: "far"}), make("span", {class: "why"}));
  }, (node, name, item) => {
    const [, value, track, far, why] = node.children;
    write(value, item.value);
    write(far, item.far);
    write(why, item.why);
    track.hidden = item.share == null;
    node.classList.toggle("plain", track.hidden);
    const width = `${(100 * (item.share ?? 0)).toFixed(2)}%`;
    if (track.firstChild.style.width !== width) track.firstChild.style.width = width;
  });
}

function drawMarks(scale, marks) {
  keep(scale, [["axis"]], () => make("span"), () => {});
  keep(scale.firstChild, marks, () => make("i"), (node, text, share) => {
    write(node, text);
    node.style.right = `${(100 * share).toFixed(2)}%`;
  });
}

// Distance in bytes -> 0 to 1.
function shareOf(distance, largest) {
  if (distance <= SMALLEST) return 0;
  const log = (bytes) => Math.log2(bytes / SMALLEST);
  return Math.min(1, log(Number(distance)) / log(Number(largest)));
}

function positionsOf(status) {
  const end = format.lsn(status.server_wal_end);
  const confirmed = format.lsn(status.confirmed_lsn);
  const committed = format.lsn(status.acknowledged_position?.replace(/\/\d+$/, ""));
  const acknowledged = committed > confirmed ? committed : confirmed;
  const rows = [
    ["Received", format.lsn(status.received_lsn),
     "All events before it were handed to the producer."],
    ["Acknowledged", acknowledged, "All events before it are durable in Kafka."],
    ["Confirmed", confirmed, "What Postgres was told: it may forget the WAL before it."],
  ];
  if (status.checkpoint_store && status.confirmed_lsn) {
    rows.push(["Checkpoint", format.lsn(status.checkpoint_lsn),
               `As stored last in: ${status.checkpoint_store}.`]);
  }
  if (status.wal_status && status.retained_wal_bytes != null && end != null) {
    rows.push(["Kept by Postgres", end - BigInt(status.retained_wal_bytes),
               "The oldest WAL that the server keeps for the slot."]);
  }
  if (status.guard_lsn) {
    rows.push(["Replay", format.lsn(status.guard_lsn), "A replay can go back to here."]);
  }
  return {end, rows: rows.filter(([, lsn]) => lsn != null)};
}

export function drawPositions(list, scale, status) {
  const {end, rows} = positionsOf(status);
  if (end == null) {
    draw(list, []);
    drawMarks(scale, []);
    return "The end of the WAL is not known yet.";
  }
  const distance = (lsn) => end > lsn ? end - lsn : 0n;
  const largest = [BigInt(status.wal_budget_bytes), BigInt(KIB ** 3),
                   ...rows.map(([, lsn]) => distance(lsn))]
      .reduce((most, value) => value > most ? value : most);
  draw(list, [
    {name: "End of the WAL", value: format.lsnText(end), far: "",
     why: "What Postgres has written, as last reported."},
    ...rows.map(([name, lsn, why]) => ({
      name, value: format.lsnText(lsn), why,
      far: distance(lsn) === 0n ? "at the end" : `${format.bytes(distance(lsn))} behind`,
      share: shareOf(distance(lsn), largest),
    })),
  ]);
  // The label of the left end needs its room.
  const marks = MARKS.map(([bytes, text]) => [text, shareOf(bytes, largest)])
                     .filter(([, share]) => share < 0.7).reverse();
  const budget = BigInt(status.wal_budget_bytes) === largest;
  drawMarks(scale, [[(budget ? "budget " : "") + format.bytes(largest), 1], ...marks,
                    ["end", 0]]);
  if (status.confirmed_lsn) return "";
  return status.state === "standby"
      ? "Only the instance that has the stream knows how far it has come."
      : "Nothing has been read since this start.";
}

const MOST_ROWS = 100000;

export function drawPolledTables(list, scale, status) {
  const log = (rows) => Math.log10(1 + rows) / Math.log10(1 + MOST_ROWS);
  draw(list, status.polled_tables.map((table) => ({
    name: table.table,
    value: format.plural(table.pending_rows, "row"),
    far: table.pending_rows ? format.duration(table.oldest_pending_seconds) + " old" : "none waits",
    why: table.look_age_seconds == null ? "Not counted yet."
        : `Counted ${format.duration(table.look_age_seconds)} ago` +
          (table.failed_rows ? `; ${format.plural(table.failed_rows, "row")} given up.` : "."),
    share: log(table.pending_rows),
  })));
  drawMarks(scale, [["100,000 rows", 1], ["1,000", log(1000)], ["10", log(10)], ["none", 0]]);
  return "Rows that are not published yet, by table.";
}
