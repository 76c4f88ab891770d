// The comb of a traced step: zoom, and the kernel under the pointer or chosen with the arrow keys.
// Its values are those of the table below it.
const WIDTH = 10000; // units of the picture for the whole step
const LANE = 32; // pixels from one stream to the next
const CLOSEST = WIDTH / 20000; // units that fill the picture when it is enlarged the most
const NEAR = 4; // pixels

const short = (us) =>
  us >= 1e5 ? `${(us / 1e6).toPrecision(4)} s` : us >= 1e3 ? `${(us / 1e3).toPrecision(4)} ms` : `${us.toPrecision(4)} µs`;

function works(comb, span) {
  const lanes = [...comb.querySelectorAll(".lanes li")].map((lane) => lane.textContent);
  return [...comb.querySelectorAll("tbody tr")].map((row) => {
    const [begin, time, stream, does, name, size] = [...row.cells].map((cell) => cell.textContent.trim());
    return {
      x: (WIDTH * begin) / span,
      width: (WIDTH * time) / span,
      lane: lanes.indexOf(`stream ${stream}`),
      says: `${name}: ${does} for ${short(Number(time))} from ${short(Number(begin))}, stream ${stream}${size && `, ${size}`}`,
    };
  });
}

function shape(svg, name) {
  const drawn = document.createElementNS(svg.namespaceURI, "rect");
  drawn.setAttribute("class", name);
  drawn.setAttribute("visibility", "hidden");
  svg.append(drawn);
  return (x, y, width, height) => {
    drawn.setAttribute("visibility", width === undefined ? "hidden" : "visible");
    if (width === undefined) return;
    Object.entries({ x, y, width, height }).forEach(([key, value]) => drawn.setAttribute(key, value));
  };
}

function start(comb) {
  const span = Number(comb.dataset.span) || 1;
  const canvas = comb.querySelector(".comb-canvas");
  const svg = canvas.querySelector("svg");
  const height = Number(svg.getAttribute("height"));
  const all = works(comb, span);
  const [here, band] = [shape(svg, "here"), shape(svg, "band")];
  const ticks = [...canvas.querySelectorAll(".comb-axis span")];
  const readout = comb.querySelector(".readout");
  let [from, wide, chosen, dragged] = [0, WIDTH, null, null];

  function view(x, width) {
    wide = Math.min(Math.max(width, CLOSEST), WIDTH);
    from = Math.min(Math.max(x, 0), WIDTH - wide);
    svg.setAttribute("viewBox", `${from} 0 ${wide} ${height}`);
    ticks.forEach((tick, at) => {
      tick.textContent = short(((from + (wide * at) / (ticks.length - 1)) * span) / WIDTH);
    });
  }

  function zoom(factor, around = chosen ? chosen.x + chosen.width / 2 : from + wide / 2) {
    const inside = around >= from && around <= from + wide ? (around - from) / wide : 0.5;
    const width = Math.min(Math.max(wide / factor, CLOSEST), WIDTH);
    view(around - inside * width, width);
  }

  function choose(work) {
    chosen = work;
    readout.textContent = work?.says ?? "";
    if (!work) return here();
    if (work.x + work.width < from || work.x > from + wide) view(work.x + work.width / 2 - wide / 2, wide);
    return here(work.x, work.lane * LANE, Math.max(work.width, wide / 800), LANE - 6);
  }

  function at(event) {
    const box = svg.getBoundingClientRect();
    return { x: from + (wide * (event.clientX - box.left)) / box.width, y: event.clientY - box.top, unit: wide / box.width };
  }

  function under({ x, y, unit }) {
    const lane = Math.floor(y / LANE);
    const far = (work) => Math.max(work.x - x, x - work.x - work.width, 0);
    const near = all.filter((work) => work.lane === lane && far(work) <= NEAR * unit);
    return near.sort((one, other) => far(one) - far(other))[0] ?? null;
  }

  function next(step) {
    const lane = all.filter((work) => work.lane === (chosen ?? all[0]).lane);
    choose(lane[Math.min(Math.max(lane.indexOf(chosen) + step, 0), lane.length - 1)]);
  }

  function across(step) {
    const middle = chosen ? chosen.x : from;
    const lane = all.filter((work) => work.lane === (chosen?.lane ?? -step) + step);
    const distance = (work) => Math.abs(work.x - middle);
    if (lane.length) choose(lane.reduce((one, other) => (distance(other) < distance(one) ? other : one)));
  }

  const keys = {
    ArrowRight: () => next(1),
    ArrowLeft: () => next(-1),
    ArrowDown: () => across(1),
    ArrowUp: () => across(-1),
    "+": () => zoom(2),
    "=": () => zoom(2),
    "-": () => zoom(0.5),
    0: () => view(0, WIDTH),
    Escape: () => choose(null),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || !all.length) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = at(event);
    if (dragged === null) choose(under(place));
    else band(Math.min(dragged, place.x), 0, Math.abs(place.x - dragged), height);
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    dragged = at(event).x;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged === null) return;
    const { x, unit } = at(event);
    const begin = dragged;
    dragged = null;
    band();
    if (Math.abs(x - begin) > NEAR * unit) view(Math.min(begin, x), Math.abs(x - begin));
  });
  canvas.addEventListener("pointercancel", () => {
    dragged = null;
    band();
  });
  canvas.addEventListener("dblclick", () => view(0, WIDTH));
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.3 : 1 / 1.3, at(event).x);
    },
    { passive: false },
  );
  comb.querySelectorAll("[data-zoom]").forEach((button) =>
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "all") view(0, WIDTH);
      else zoom(button.dataset.zoom === "in" ? 2 : 0.5);
    }),
  );
}

document.querySelectorAll("[data-comb]").forEach(start);
