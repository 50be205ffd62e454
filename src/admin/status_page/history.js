// The last minutes of one relay, kept by the page alone.
//
// Differences are taken against the relay's own monotonic time, so that neither a
// wrong clock, a slow answer nor a tab in the background changes a rate. A relay
// that has started again begins with its counts at zero: then there is no
// difference, and the lines of the charts are broken.

export const LENGTH = 600;  // seconds
const LATENCY_SPAN = 10;    // seconds that a quantile is about
const RATE_SPAN = 5;
const WHOLE = 30;           // samples that keep their whole status

const grown = (now, before) => now == null || before == null || now < before ? null
                                                                            : now - before;

export class History {
  samples = [];
  #isBroken = true;

  // `at`: seconds on the browser's monotonic clock.
  add(status, at) {
    const last = this.samples.at(-1);
    const isOther = last && status.running_seconds <= last.status.running_seconds;
    if (isOther) this.#isBroken = true;
    const sample = {at, status, isFirst: this.#isBroken};
    this.#isBroken = false;
    this.samples.push(sample);
    while (this.samples[0].at < at - LENGTH - 1) this.samples.shift();
    if (this.samples.length > WHOLE) this.samples.at(-1 - WHOLE).status = null;
    const before = this.#before(sample, 1);
    const acknowledged = this.#rate(sample, before, "acknowledged");
    const latency = this.#latency(sample, this.#before(sample, LATENCY_SPAN));
    sample.values = {
      rate: acknowledged,
      bytes: this.#rate(sample, before, "value_bytes"),
      p50: quantile(latency, 0.5), p99: quantile(latency, 0.99),
      lag: status.lag_seconds, oldest: status.oldest_unpublished_seconds,
      records: status.in_flight_records, behind: status.lag_bytes,
      pending: status.pending_rows,
    };
  }

  // There was no answer.
  interrupt() { this.#isBroken = true; }

  // Per second over the last few seconds; null: not known. `read` gets a status.
  recent(read) {
    const now = this.samples.at(-1);
    const before = this.#before(now, RATE_SPAN);
    return before && ratio(grown(read(now.status), read(before.status)), now, before);
  }

  // The newest sample that is at least so old, or the oldest before which nothing
  // was interrupted.
  #before(sample, age) {
    let found = null;
    for (let place = this.samples.lastIndexOf(sample); place > 0; place -= 1) {
      if (this.samples[place].isFirst || !this.samples[place - 1].status) break;
      found = this.samples[place - 1];
      const passed = sample.status.running_seconds - found.status.running_seconds;
      if (passed >= age * 0.9) break;
    }
    return found;
  }

  #rate(sample, before, name) {
    return before && ratio(grown(sample.status[name], before.status[name]), sample, before);
  }

  // [bound, count] of the acknowledgements since then.
  #latency(sample, before) {
    if (!before) return [];
    const name = "commit_to_acknowledgement_buckets";
    const earlier = new Map(before.status[name]);
    return sample.status[name].map(
        ([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)]);
  }

  // For each of the last minutes, the newest first: the mean of each value, and
  // the largest of its p99.
  minutes() {
    const end = this.samples.at(-1).at;
    const rows = [];
    for (let minute = 0; minute < LENGTH / 60; minute += 1) {
      const within = this.samples.filter(
          ({at}) => at <= end - minute * 60 && at > end - (minute + 1) * 60);
      if (within.length === 0) continue;
      const known = (name) => within.map(({values}) => values[name])
                                    .filter((value) => value != null);
      const mean = (name) => known(name).length
          ? known(name).reduce((sum, value) => sum + value) / known(name).length : null;
      const most = (name) => known(name).length ? Math.max(...known(name)) : null;
      rows.push({minute, rate: mean("rate"), bytes: mean("bytes"), p50: mean("p50"),
                 p99: most("p99"), lag: most("lag"), oldest: most("oldest"),
                 records: mean("records"), behind: mean("behind"),
                 pending: mean("pending")});
    }
    return rows;
  }
}

function ratio(difference, now, before) {
  const passed = now.status.running_seconds - before.status.running_seconds;
  return difference == null || passed <= 0 ? null : difference / passed;
}

// As the relay reads its histogram: the bound that so many do not exceed.
export function quantile(buckets, fraction) {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total <= 0) return null;
  let seen = 0;
  for (const [bound, count] of buckets) {
    seen += count;
    if (seen >= total * fraction) return bound;
  }
  return null;
}
