// Lines over the last minutes, drawn as SVG.

import {drawn, make, set, write} from "./dom.js";
import {LENGTH} from "./history.js";

const WIDTH = 600;
const HEIGHT = 100;
const SPANS = [60, 120, 300, LENGTH];  // seconds that the width may stand for
const NEAR = 3;  // seconds between two points that the pointer finds

// A round number above: the scale stays while the largest value moves. `unit`: of
// bytes, 1024, else 1.
function roundUp(value, unit) {
  if (!(value > 0)) return 1;
  const whole = unit > 1 ? unit ** Math.max(0, Math.floor(Math.log(value) / Math.log(unit))) : 1;
  const power = whole * 10 ** Math.floor(Math.log10(value / whole));
  return [1, 2, 5, 10].find((step) => step * power >= value) * power;
}

export class Chart {
  #lines;
  #format;
  #unit;
  #values = make("p", {class: "values"});
  #plot;
  #top = make("span", {class: "top-value"});
  #paths;
  #area = drawn("path", {class: "area"});
  #cursor = drawn("line", {class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden"});
  #pointer = null;  // 0 to 1
  #samples = [];
  #span = LENGTH;
  #begin = make("span");

  // lines: {name, label} of one or two values of a sample.
  constructor(parent, title, lines, format, unit = 1) {
    this.#lines = lines;
    this.#format = format;
    this.#unit = unit;
    this.title = title;
    this.#paths = lines.map((_, place) => drawn(
        "path", {class: place ? "line second" : "line"}));
    this.#plot = drawn("svg", {role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
                               preserveAspectRatio: "none"},
                       this.#area, ...this.#paths, this.#cursor);
    const plot = make("div", {class: "plot"}, this.#plot, this.#top);
    for (const line of lines) {
      const value = make("b");
      const label = make("span", {}, ...(lines.length > 1 ? [sign(line, lines)] : []));
      label.append(document.createTextNode(""));
      this.#values.append(make("span", {}, value, " ", label));
    }
    parent.append(make(
        "div", {class: "chart"}, make("h3", {}, title), this.#values, plot,
        make("p", {class: "axis", "aria-hidden": "true"},
             this.#begin, make("span", {}, "now"))));
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      this.#pointer = (event.clientX - box.left) / box.width;
      this.#show();
    });
    plot.addEventListener("pointerleave", () => {
      this.#pointer = null;
      this.#show();
    });
  }

  draw(samples) {
    this.#samples = samples;
    const end = samples.at(-1).at;
    this.#span = SPANS.find((span) => span >= end - samples[0].at) ?? LENGTH;
    write(this.#begin, `${this.#span / 60} min ago`);
    const all = samples.flatMap(({values}) => this.#lines.map(({name}) => values[name]))
                       .filter((value) => value != null);
    const largest = roundUp(Math.max(0, ...all), this.#unit);
    const point = (sample, value) => [
      (WIDTH * (1 - (end - sample.at) / this.#span)).toFixed(1),
      (HEIGHT * (1 - value / largest)).toFixed(1)];
    this.#lines.forEach(({name}, place) => {
      const runs = [];
      let run = null;
      for (const sample of samples) {
        const value = sample.values[name];
        if (value == null) {
          run = null;
        } else if (run && !sample.isFirst) {
          run.push(point(sample, value));
        } else {
          runs.push(run = [point(sample, value)]);
        }
      }
      const line = runs.map((points) => "M" + points.map((xy) => xy.join(" ")).join("L") +
                                        (points.length === 1 ? "h0.1" : ""));
      set(this.#paths[place], "d", line.join(""));
      if (place > 0) return;
      set(this.#area, "d", runs.map((points, number) =>
          `${line[number]}L${points.at(-1)[0]} ${HEIGHT}L${points[0][0]} ${HEIGHT}Z`).join(""));
    });
    write(this.#top, this.#format(largest));
    this.#describe();
    this.#show();
  }

  // The value under the pointer; without one, the newest.
  #show() {
    if (this.#samples.length === 0) return;
    const last = this.#samples.at(-1);
    let shown = last;
    let when = "";
    if (this.#pointer != null) {
      const wanted = last.at - this.#span * (1 - this.#pointer);
      const found = this.#samples.find(({at}) => at >= wanted);
      if (found && found.at - wanted <= NEAR) {
        shown = found;
        when = ` ${Math.round(last.at - found.at)} s ago`;
      }
    }
    const x = WIDTH * (1 - (last.at - shown.at) / this.#span);
    set(this.#cursor, "visibility", when ? "visible" : "hidden");
    set(this.#cursor, "x1", x);
    set(this.#cursor, "x2", x);
    this.#lines.forEach(({name, label}, place) => {
      const [value, , sign] = this.#values.children[place].childNodes;
      write(value, this.#format(shown.values[name]));
      write(sign.lastChild, label + when);
    });
  }

  #describe() {
    const parts = this.#lines.map(({name, label}) => {
      const known = this.#samples.map(({values}) => values[name])
                                 .filter((value) => value != null);
      if (known.length === 0) return `${label}: no value`;
      const [low, high] = [Math.min(...known), Math.max(...known)].map(this.#format);
      return `${label}: ${this.#format(this.#samples.at(-1).values[name])} now, ` +
             `between ${low} and ${high}`;
    });
    set(this.#plot, "aria-label", `${this.title}, last ${this.#span / 60} min. ${parts.join(". ")}.`);
  }
}

// A piece of the line, beside its label.
function sign(line, lines) {
  return drawn("svg", {viewBox: "0 0 30 10", "aria-hidden": "true"},
               drawn("path", {class: line === lines[0] ? "line" : "line second",
                              d: "M0 5H30"}));
}
