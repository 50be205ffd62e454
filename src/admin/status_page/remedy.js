// What to do: the sections of docs/runbook.md that fit a status.

import {make} from "./dom.js";

// The causes of /status, the worst first, and their sections.
const OF_CAUSE = [
  ["slot", "WalpostGap"],
  ["publication", "WalpostStuck"],
  ["event", "WalpostEventStopsFlow"],
  ["pause", "WalpostPaused"],
  ["credentials", "WalpostCredentialsRejected"],
  ["postgres", "WalpostPostgresUnavailable"],
  ["kafka", "WalpostKafkaUnavailable"],
  ["checkpoint", "WalpostStuck"],
  ["wal", "WalpostWalBudgetNearlyExhausted"],
];

// Facts that matter besides, also while the relay is ready. The thresholds are
// those of monitoring/alerts.yaml.
const OF_FACT = [
  [(status) => status.state === "starting" && status.in_state_seconds > 60,
   "WalpostStartsForLong"],
  [(status) => status.wal_status === "unreserved", "WalpostSlotUnreserved"],
  [(status) => status.ready && status.slot_report_age_seconds > 60, "WalpostSlotNotSeen"],
  [(status) => status.hidden_records_seconds > 300, "WalpostHiddenRecords"],
  [(status) => status.parked_keys > 0, "WalpostParkedKeys"],
  [(status) => status.isolated_topics.length > 0, "WalpostIsolatedTopics"],
  [(status) => status.failed_rows > 0, "WalpostFailedRows"],
  [(status) => status.ready && status.lag_seconds > 300, "WalpostLag"],
  [(status) => status.ready && status.oldest_unpublished_seconds > 300 &&
               !(status.lag_seconds > 300), "WalpostOldUnpublishedEvent"],
  [(status) => status.retained_wal_bytes >= 0.5 * status.wal_budget_bytes &&
               status.wal_budget_bytes > 0 && !status.causes.includes("wal"),
   "WalpostWalBudgetHalfUsed"],
  [(status) => status.dead_letters > 0, "WalpostDeadLetters"],
  [(status) => status.events_left_out > 0, "WalpostSkippedEvents"],
  [(status) => status.kept_rows > 0, "WalpostRetentionKeepsRows"],
  [(status) => status.topics >= 0.8 * status.max_topics && status.max_topics > 0,
   "WalpostNearTopicLimit"],
];

export function sectionsFor(status) {
  const causes = new Set(status.causes);
  if (causes.has("credentials")) {
    causes.delete("postgres");
    causes.delete("kafka");
  }
  const found = [
    ...OF_CAUSE.filter(([cause]) => causes.has(cause)),
    ...OF_FACT.filter(([holds]) => holds(status)),
  ].map(([, section]) => section);
  return [...new Set(found)];
}

// "## Title" -> the text below it.
export function sectionsOf(markdown) {
  const sections = new Map();
  for (const part of markdown.split(/^## /m).slice(1)) {
    const end = part.indexOf("\n");
    sections.set(part.slice(0, end).trim(), part.slice(end + 1).trim());
  }
  return sections;
}

// "WalpostKafkaUnavailable" -> "Kafka unavailable"
export function titleOf(section) {
  const names = {kafka: "Kafka", postgres: "Postgres", wal: "WAL"};
  const words = section.replace(/^Walpost/, "").replace(/(?<!^)[A-Z]/g, " $&")
                       .toLowerCase().replace(/\w+/g, (word) => names[word] ?? word);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// The paragraphs of a section, and of its tables the rows about these codes. The
// reason of the state says what a cause means, better than an alert that waits.
export function render(section, text, codes) {
  const nodes = [];
  const isCause = OF_CAUSE.some(([, name]) => name === section);
  for (const block of text.split(/\n{2,}/)) {
    if (isCause && block.startsWith("**Meaning.**")) continue;
    if (!block.startsWith("|")) {
      nodes.push(make("p", {}, ...inline(block)));
      continue;
    }
    for (const row of block.split("\n").slice(2)) {
      const [code, remedy] = row.split("|").slice(1, 3).map((cell) => cell.trim());
      if (!codes.some((wanted) => code.includes("`" + wanted + "`"))) continue;
      nodes.push(make("p", {}, ...inline(`**${code.replaceAll("`", "")}:** ${remedy}`)));
    }
  }
  return nodes;
}

// **bold**, `code` and [words](address): the addresses are of files that a browser
// cannot reach from here.
function inline(text) {
  const parts = text.replace(/\s+/g, " ").split(/(\*\*.+?\*\*|`[^`]+`|\[[^\]]+\]\([^)]*\))/);
  return parts.filter(Boolean).map((part) => {
    if (part.startsWith("**")) return make("b", {}, ...inline(part.slice(2, -2)));
    if (part.startsWith("`")) return make("code", {}, part.slice(1, -1));
    const link = /^\[([^\]]+)\]\([^)]*\)$/.exec(part);
    return link ? make("cite", {}, link[1]) : part;
  });
}
