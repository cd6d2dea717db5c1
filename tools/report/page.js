'use strict';
// Draws the page from its data. Names come from models: they are set as text, never as markup.
(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const main = document.querySelector('main'), tip = document.getElementById('tip');
  const SVG = 'http://www.w3.org/2000/svg';
  const KIND = 0, UNIT = 1, START = 2, NS = 3, WORK = 4, LIBRARY = 5, OPERATOR = 6, CRITICAL = 7, MSTART = 8, MNS = 9,
    RUN = 10, OTHERS = 11, WHY = 12;  // of a step
  const COPY = 1, REORDER = 2;

  const put = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === 'function') element.addEventListener(name, value);
      else if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...(children || []).filter((child) => child !== null));
    return element;
  };
  const html = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
  const time = (ns) => {
    const size = Math.abs(ns);
    const [unit, scale] = size < 1e3 ? ['ns', 1] : size < 1e6 ? ['µs', 1e3] : size < 1e9 ? ['ms', 1e6] : ['s', 1e9];
    const value = ns / scale;
    return (scale === 1 ? Math.round(value) : value.toPrecision(Math.abs(value) >= 100 ? 4 : 3)) + ' ' + unit;
  };
  const signed = (ns) => (ns > 0 ? '+' : ns < 0 ? '−' : '') + time(Math.abs(ns));
  const percent = (share) => (share * 100).toFixed(1) + ' %';
  const bytes = (count) => {
    for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
      if (count < 1024 || unit === 'GiB') return (count < 10 && unit !== 'B' ? count.toFixed(1) : Math.round(count)) + ' ' + unit;
      count /= 1024;
    }
  };

  // --- plans and what is drawn of them
  const plans = page.plans;
  plans.forEach((plan, p) => {
    plan.text = (i) => plan.strings[i];
    plan.measured = plan.steps.some((step) => step[MSTART] >= 0);
    plan.letter = plans.length > 1 ? 'AB'[p] : '';
  });
  const tracks = [];  // one above the other, on one scale of time
  for (const plan of plans) {
    tracks.push({plan, title: plan.title, at: START, takes: NS, end: plan.makespan});
    if (plan.measured) tracks.push({plan, title: plan.measured_title, at: MSTART, takes: RUN, end: plan.measured_end});
  }
  for (const track of tracks) {
    track.rows = plans.length ? track.plan.lanes.map(() => []) : [];  // by lane: steps in order of time
    track.plan.steps.forEach((step, s) => {
      if (step[track.takes] <= 0 || step[track.at] < 0) return;
      for (const [first, count] of track.plan.units[step[UNIT]].lanes) {
        for (let lane = first; lane < first + count; ++lane) track.rows[lane].push(s);
      }
    });
    for (const row of track.rows) row.sort((a, b) => track.plan.steps[a][track.at] - track.plan.steps[b][track.at]);
  }
  const whole = Math.max(1, ...tracks.map((track) => track.end), ...plans.map((plan) => plan.makespan));
  const view = {from: 0, to: whole, color: 'operator', critical: false, find: '', chosen: null};

  const labelOf = (plan, step) => plan.text(step[WORK]);
  const matches = (plan, step) => view.find !== '' && labelOf(plan, step).toLowerCase().includes(view.find);

  // --- colours: the kinds that take longest get one each
  const groups = {
    operator: (plan, step) => plan.text(step[OPERATOR]),
    library: (plan, step) => plan.text(step[LIBRARY]).split(' ')[0] || 'copy',
    unit: (plan, step) => plan.units[step[UNIT]].name,
  };
  const palette = {};
  for (const [name, group] of Object.entries(groups)) {
    const total = new Map();
    for (const plan of plans) {
      for (const step of plan.steps) {
        if (name === 'operator' && step[KIND]) continue;
        const key = group(plan, step);
        total.set(key, (total.get(key) || 0) + step[NS]);
      }
    }
    const ranked = [...total].filter((row) => row[1] > 0).sort((a, b) => b[1] - a[1]).map((row) => row[0]);
    palette[name] = new Map(ranked.map((key, i) => [key, Math.min(i, 7)]));
  }
  const ratioColor = (ratio) => ratio > 1.5 ? '--c6' : ratio > 1.15 ? '--c1' : ratio < 0.67 ? '--c5' : ratio < 0.87 ? '--c0' : '--c7';
  const colorOf = (plan, step) => {
    if (view.color === 'difference') return step[MSTART] < 0 ? '--c7' : ratioColor(step[MNS] / Math.max(1, step[NS]));
    if (step[KIND] === COPY) return '--copy';
    if (step[KIND] === REORDER) return '--reorder';
    return '--c' + (palette[view.color].get(groups[view.color](plan, step)) ?? 7);
  };

  // --- two brushes with the same strokes
  const svgBrush = (root) => {
    const add = (tag, attributes, text) => {
      const element = put(document.createElementNS(SVG, tag), attributes);
      if (text !== undefined) element.textContent = text;
      root.append(element);
    };
    return {
      bar: (x, y, w, h, color, cls) => add('rect', {x: x.toFixed(2), y, width: w.toFixed(2), height: h, class: cls, style: `fill:var(${color})`}),
      line: (x1, y1, x2, y2, color, dash, width) => add('line', {x1, y1, x2, y2, style: `stroke:var(${color});stroke-width:${width || 1}`, 'stroke-dasharray': dash || null}),
      text: (x, y, text, cls, anchor) => add('text', {x, y, class: cls, 'text-anchor': anchor || 'start'}, text),
      area: (points, color) => add('polygon', {points: points.map((p) => p.map((v) => v.toFixed(1)).join()).join(' '), style: `fill:var(${color});fill-opacity:.35;stroke:var(${color})`}),
    };
  };
  const canvasBrush = (canvas, width, height) => {
    const scale = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    canvas.width = width * scale;
    canvas.height = height * scale;
    const c = canvas.getContext('2d');
    c.scale(scale, scale);
    const inks = {title: ['--ink', '600 13px system-ui'], soft: ['--soft', '11px system-ui'], on: ['--text', '10.5px system-ui']};
    return {
      bar: (x, y, w, h, color, cls) => {
        const edge = /found/.test(cls) ? '--find' : /chosen/.test(cls) ? '--ink' : /critical/.test(cls) ? '--mark' : '';
        c.globalAlpha = /dim/.test(cls) ? .22 : 1;
        c.fillStyle = ink(color);
        c.fillRect(x, y, w, h);
        if (edge) {
          c.strokeStyle = ink(edge);
          c.lineWidth = 2;
          c.strokeRect(x, y, w, h);
        }
        c.globalAlpha = 1;
      },
      line: (x1, y1, x2, y2, color, dash, width) => {
        c.strokeStyle = ink(color);
        c.lineWidth = width || 1;
        c.setLineDash(dash ? dash.split(' ').map(Number) : []);
        c.beginPath();
        c.moveTo(x1, y1);
        c.lineTo(x2, y2);
        c.stroke();
        c.setLineDash([]);
      },
      text: (x, y, text, cls, anchor) => {
        const [color, font] = inks[cls] || ['--ink', '11px system-ui'];
        c.fillStyle = ink(color);
        c.font = font;
        c.textAlign = anchor === 'middle' ? 'center' : anchor || 'start';
        c.fillText(text, x, y);
      },
      area: (points, color) => {
        c.fillStyle = c.strokeStyle = ink(color);
        c.beginPath();
        for (const [x, y] of points) c.lineTo(x, y);
        c.globalAlpha = .35;
        c.fill();
        c.globalAlpha = 1;
        c.stroke();
      },
    };
  };

  // --- the picture
  const CANVAS_ABOVE = 5000;  // steps
  const onCanvas = plans.reduce((sum, plan) => sum + plan.steps.length, 0) > CANVAS_ABOVE;
  const surface = onCanvas ? html('canvas') : document.createElementNS(SVG, 'svg');
  const picture = html('div', {class: 'picture', tabindex: '0', role: 'img', 'aria-label': 'Timelines of the steps by lane. Keys: plus and minus zoom, arrows move, n and p go from step to step, 0 shows all. The table below has the same steps.'}, surface);
  const place = {left: 116, right: 14, width: 0, tracks: [], charts: []};
  const x = (ns) => place.left + (ns - view.from) / (view.to - view.from) * (place.width - place.left - place.right);
  const short = (text, room) => text.length <= room ? text : room < 3 ? '' : text.slice(0, room - 1) + '…';

  const layOut = () => {
    place.width = Math.max(280, picture.clientWidth);
    place.left = place.width < 560 ? 76 : 116;
    let y = 24;
    const most = Math.max(1, ...tracks.map((track) => track.rows.length));
    place.lane = most > 16 ? 16 : most > 6 ? 20 : most > 2 ? 28 : 36;
    place.tracks = tracks.map((track) => {
      const top = y + 22;
      y = top + track.rows.length * place.lane + 12;
      return {top, bottom: y - 12};
    });
    place.charts = [];
    for (const plan of plans) {
      for (const series of plan.memory) {
        place.charts.push({plan, series, top: y + 18, bottom: y + 68});
        y += 80;
      }
    }
    place.height = y + 20;
  };

  const drawGrid = (brush) => {
    const span = view.to - view.from, rough = span / Math.max(3, place.width / 140);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough));
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      brush.line(x(at), 22, x(at), place.height - 18, '--line');
      brush.text(x(at), 15, at === 0 ? '0' : time(at), 'soft', 'middle');
      brush.text(x(at), place.height - 5, at === 0 ? '0' : time(at), 'soft', 'middle');
    }
  };
  const drawLine = (brush, ns, top, bottom, color, dash, width) => {
    if (ns > 0 && ns >= view.from && ns <= view.to) brush.line(x(ns), top, x(ns), bottom, color, dash, width);
  };

  const classOf = (plan, step, s) => {
    let cls = 'step';
    if (step[CRITICAL]) cls += ' critical';
    const found = matches(plan, step);
    if (found) cls += ' found';
    if ((view.find && !found) || (view.critical && !step[CRITICAL])) cls += ' dim';
    if (view.chosen && view.chosen.plan === plan && view.chosen.s === s) cls += ' chosen';
    return cls;
  };

  const drawTrack = (brush, track, where) => {
    const {plan} = track;
    brush.text(8, where.top - 7, track.title, 'title');
    track.rows.forEach((row, lane) => {
      const y = where.top + lane * place.lane;
      brush.bar(place.left, y + 2, place.width - place.left - place.right, place.lane - 4, '--lane', '');
      brush.text(place.left - 7, y + place.lane / 2 + 4, short(plan.lanes[lane], place.left < 100 ? 10 : 17), 'soft', 'end');
    });
    plan.steps.forEach((step, s) => {
      const start = step[track.at], end = start + step[track.takes];
      if (start < 0 || end <= start || end < view.from || start > view.to) return;
      const from = Math.max(x(start), place.left), to = Math.min(x(end), place.width - place.right);
      const width = Math.max(.75, to - from), cls = width < 4 ? classOf(plan, step, s).replace(' critical', '') : classOf(plan, step, s);
      for (const [first, count] of plan.units[step[UNIT]].lanes) {
        const y = where.top + first * place.lane + 2, height = count * place.lane - 4;
        brush.bar(from, y, width, height, colorOf(plan, step), cls);
        if (width < 4 && step[CRITICAL]) brush.bar(from, y + height - 4, width, 4, '--mark', '');  // too narrow for an edge
        const room = Math.floor((width - 6) / 6.1);
        if (room >= 3) brush.text(from + 4, y + height / 2 + 4, short(step[KIND] ? ['', 'copy', 'reorder'][step[KIND]] : width > 150 ? labelOf(plan, step) : plan.text(step[OPERATOR]), room), 'on');
      }
    });
    drawLine(brush, track.end, where.top, where.bottom, '--ink', '', 1.5);
    drawLine(brush, plan.bound, where.top, where.bottom, '--good', '4 3', 1.5);
    drawLine(brush, plan.single, where.top, where.bottom, '--bad', '1 3', 2);
  };

  const drawChart = (brush, {plan, series, top, bottom}) => {
    brush.text(8, top - 5, `${plan.letter ? plan.letter + ': ' : ''}memory on ${series.device}, at most ${bytes(series.peak)}`, '');
    const high = (value) => bottom - (bottom - top) * value / Math.max(1, series.peak);
    const edge = (ns) => Math.min(Math.max(x(ns), place.left), place.width - place.right);
    const points = [[edge(0), bottom]];
    let last = 0;
    for (let i = 0; i < series.points.length; i += 2) {
      const at = edge(series.points[i]);
      points.push([at, high(last)], [at, high(series.points[i + 1])]);
      last = series.points[i + 1];
    }
    points.push([edge(plan.makespan), high(last)], [edge(plan.makespan), bottom]);
    brush.area(points, '--good');
  };

  let asked = 0;
  const redraw = () => {
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; drawNow(); });
  };
  const drawNow = () => {
    if (!plans.length) return;
    layOut();
    let brush;
    if (onCanvas) {
      surface.style.height = place.height + 'px';
      brush = canvasBrush(surface, place.width, place.height);
    } else {
      surface.replaceChildren();
      put(surface, {viewBox: `0 0 ${place.width} ${place.height}`, height: place.height});
      brush = svgBrush(surface);
    }
    drawGrid(brush);
    tracks.forEach((track, t) => drawTrack(brush, track, place.tracks[t]));
    for (const chart of place.charts) drawChart(brush, chart);
  };

  // --- what is under the pointer
  const stepAt = (event) => {
    const box = picture.getBoundingClientRect();
    const px = event.clientX - box.left - 1, py = event.clientY - box.top - 1;
    const at = view.from + (px - place.left) / (place.width - place.left - place.right) * (view.to - view.from);
    const slack = (view.to - view.from) / place.width * 2;
    for (let t = 0; t < tracks.length; ++t) {
      const lane = Math.floor((py - place.tracks[t].top) / place.lane), row = tracks[t].rows[lane];
      if (py < place.tracks[t].top || row === undefined) continue;
      const {plan, at: begins, takes} = tracks[t];
      const hit = (grace) => row.find((s) => plan.steps[s][begins] - grace <= at && at <= plan.steps[s][begins] + plan.steps[s][takes] + grace);
      const s = hit(0) ?? hit(slack);
      if (s !== undefined) return {plan, s};
    }
    return null;
  };
  const describe = ({plan, s}, more) => {
    const step = plan.steps[s], lines = [labelOf(plan, step)];
    lines.push(`step ${s} on ${plan.units[step[UNIT]].name}${plan.text(step[LIBRARY]) ? ', ' + plan.text(step[LIBRARY]) : ''}`);
    lines.push(`predicted ${time(step[NS])}, from ${time(step[START])}`);
    if (step[MSTART] >= 0) lines.push(`measured ${time(step[MNS])} (${signed(step[MNS] - step[NS])}), from ${time(step[MSTART])}`);
    if (step[CRITICAL]) lines.push('on the critical path');
    if (more) {
      for (const other of step[OTHERS]) lines.push(`other, alone: ${otherText(plan, other)}`);
      for (const line of step[WHY]) lines.push('why: ' + plan.text(line));
    }
    return lines.join('\n');
  };
  const otherText = (plan, [where, library, ns]) => `${plan.text(where)}, ${plan.text(library)}: ${time(ns)}`;

  const detail = html('div', {id: 'detail', 'aria-live': 'polite', hidden: ''});
  const choose = (found, reveal) => {
    view.chosen = found;
    detail.hidden = !found;
    detail.textContent = found ? describe(found, true) : '';
    if (found && reveal) {
      const step = found.plan.steps[found.s], span = view.to - view.from, middle = step[START] + step[NS] / 2;
      if (middle < view.from || middle > view.to) show(middle - span / 2, middle + span / 2);
    }
    for (const row of document.querySelectorAll('tr.chosen')) row.classList.remove('chosen');
    if (found) document.getElementById(`step${found.plan.letter}${found.s}`)?.classList.add('chosen');
    redraw();
  };
  const show = (from, to) => {
    const span = Math.min(whole, Math.max(to - from, Math.min(whole, 100)));
    view.from = Math.min(Math.max(0, from), whole - span);
    view.to = view.from + span;
    redraw();
  };
  const zoom = (factor, around) => show(around - (around - view.from) * factor, around + (view.to - around) * factor);
  const middle = () => (view.from + view.to) / 2;
  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  const neighbour = (by) => {
    const plan = view.chosen ? view.chosen.plan : plans[0];
    let s = view.chosen ? view.chosen.s : by > 0 ? -1 : plan.steps.length;
    do s += by; while (plan.steps[s] && (plan.steps[s][NS] <= 0 || (view.find && !matches(plan, plan.steps[s]))));
    if (plan.steps[s]) choose({plan, s}, true);
  };

  let drag = null;
  put(picture, {
    pointerdown: (event) => { drag = {x: event.clientX, from: view.from, to: view.to, moved: false}; },
    pointermove: (event) => {
      if (drag && event.buttons) {
        const by = (drag.x - event.clientX) / place.width * (drag.to - drag.from);
        drag.moved = drag.moved || Math.abs(drag.x - event.clientX) > 4;
        if (drag.moved) show(drag.from + by, drag.to + by);
      }
      const found = stepAt(event);
      tip.hidden = !found;
      if (!found) return;
      tip.textContent = describe(found, false);
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
      tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
    },
    pointerleave: () => { tip.hidden = true; },
    pointerup: (event) => {
      if (drag && !drag.moved) choose(stepAt(event));
      drag = null;
    },
    dblclick: (event) => {
      const found = stepAt(event), step = found && found.plan.steps[found.s];
      if (step) show(step[START] - 2 * step[NS], step[START] + 3 * step[NS]);
    },
    keydown: (event) => {
      const keys = {'+': () => zoom(.5, middle()), '=': () => zoom(.5, middle()), '-': () => zoom(2, middle()), '0': () => show(0, whole),
        ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2), n: () => neighbour(1), p: () => neighbour(-1), Escape: () => choose(null)};
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    },
  });
  picture.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // plain turns scroll the page
    event.preventDefault();
    const px = event.clientX - picture.getBoundingClientRect().left;
    zoom(event.deltaY > 0 ? 1.25 : .8, view.from + (px - place.left) / (place.width - place.left - place.right) * (view.to - view.from));
  }, {passive: false});

  // --- controls and legend
  const legend = html('div', {class: 'legend'});
  const drawLegend = () => {
    const key = (color, text) => html('span', {}, html('i', {style: `background:var(${color})`}), text);
    const rows = [];
    if (view.color === 'difference') {
      for (const [ratio, text] of [[.5, 'far faster than predicted'], [.8, 'faster'], [1, 'as predicted'], [1.3, 'slower'], [2, 'far slower']]) rows.push(key(ratioColor(ratio), text));
    } else {
      const names = [...palette[view.color]];
      for (const [name, at] of names.slice(0, 7)) rows.push(key('--c' + at, name || 'other'));
      if (names.length > 7) rows.push(key('--c7', names.length === 8 ? names[7][0] : `${names.length - 7} others`));
      if (plans.some((plan) => plan.steps.some((step) => step[KIND] === COPY))) rows.push(key('--copy', 'copy'));
      if (plans.some((plan) => plan.steps.some((step) => step[KIND] === REORDER && step[NS] > 0))) rows.push(key('--reorder', 'reorder'));
    }
    rows.push(html('span', {}, html('i', {class: 'edge'}), 'critical path'), html('span', {}, 'solid line: end'));
    if (plans.some((plan) => plan.bound > 0)) rows.push(html('span', {}, 'dashed: lower bound'));
    if (plans.some((plan) => plan.single > 0)) rows.push(html('span', {}, 'dotted: best single device'));
    legend.replaceChildren(...rows);
  };
  const found = html('span', {class: 'soft', 'aria-live': 'polite'});
  const search = html('input', {type: 'search', placeholder: 'find a node', 'aria-label': 'find steps by the name of a node', input: () => {
    view.find = search.value.trim().toLowerCase();
    const count = plans.reduce((sum, plan) => sum + plan.steps.filter((step) => matches(plan, step)).length, 0);
    found.textContent = view.find ? `${count} ${count === 1 ? 'step' : 'steps'}` : '';
    redraw();
    fillTables();
  }});
  const colors = html('select', {'aria-label': 'colour by', change: () => { view.color = colors.value; drawLegend(); redraw(); }},
    ...['operator', 'library', 'unit', ...(plans.some((plan) => plan.measured) ? ['difference'] : [])].map((name) => html('option', {value: name}, 'colour by ' + name)));
  const critical = html('button', {'aria-pressed': 'false', click: () => {
    view.critical = !view.critical;
    critical.setAttribute('aria-pressed', view.critical);
    redraw();
  }}, 'critical path only');
  const button = (text, label, click) => html('button', {'aria-label': label, title: label, click}, text);
  const controls = html('div', {class: 'bar'}, button('+', 'zoom in', () => zoom(.5, middle())), button('−', 'zoom out', () => zoom(2, middle())),
    button('all', 'show all', () => show(0, whole)), button('◀', 'earlier', () => pan(-.5)), button('▶', 'later', () => pan(.5)), colors, critical, search, found);

  // --- tables
  const section = (title, ...children) => html('section', {}, html('h2', {}, title), ...children);
  const cell = (content, cls) => html('td', {class: cls || null}, content);
  const FIRST_ROWS = 400;
  const fills = [];
  const fillTables = () => fills.forEach((fill) => fill());

  // Columns: name, class, what it is sorted by, what it shows. rowOf: attributes of a row.
  const sortedTable = (columns, rows, first, keep, rowOf) => {
    const order = rows.map((_, r) => r);
    let sorted = first, limit = FIRST_ROWS;
    const body = html('tbody'), rest = html('button', {click: () => { limit = Infinity; fill(); }});
    const heads = columns.map(([name, cls, value], c) => html('th', {class: cls || null, scope: 'col'}, html('button', {click: () => {
      sorted = c;
      order.sort((a, b) => {
        const u = value(rows[a], a), v = value(rows[b], b);
        return u < v ? -1 : u > v ? 1 : a - b;
      });
      fill();
    }}, name)));
    const fill = () => {
      heads.forEach((head, c) => head.setAttribute('aria-sort', c === sorted ? 'ascending' : 'none'));
      const shown = order.filter((r) => keep(rows[r]));
      body.replaceChildren(...shown.slice(0, limit).map((r) => html('tr', rowOf(r), ...columns.map(([, cls, , text]) => cell(text(rows[r], r), cls)))));
      rest.hidden = shown.length <= limit;
      rest.textContent = `show all ${shown.length}`;
    };
    fills.push(fill);
    return [html('div', {class: 'scroll'}, html('table', {}, html('thead', {}, html('tr', {}, ...heads)), body)), rest];
  };

  const stepTable = (plan) => {
    const columns = [
      ['step', 'n', (step, s) => s, (step, s) => String(s)],
      ['work', 'w', (step) => labelOf(plan, step), (step) => labelOf(plan, step)],
      ['unit', 's', (step) => plan.units[step[UNIT]].name, (step) => plan.units[step[UNIT]].name],
      ['library', '', (step) => plan.text(step[LIBRARY]), (step) => plan.text(step[LIBRARY])],
      ['start', 'n', (step) => step[START], (step) => time(step[START])],
      ['predicted', 'n', (step) => -step[NS], (step) => time(step[NS])],
    ];
    if (plan.measured) {
      columns.push(['measured', 'n', (step) => -step[MNS], (step) => step[MSTART] < 0 ? '' : time(step[MNS])]);
      columns.push(['difference', 'n', (step) => -Math.abs(step[MNS] - step[NS]), (step) => step[MSTART] < 0 ? '' : signed(step[MNS] - step[NS])]);
    }
    columns.push(['critical', '', (step) => -step[CRITICAL], (step) => step[CRITICAL] ? 'yes' : '']);
    if (plan.steps.some((step) => step[OTHERS].length)) {
      columns.push(['others alone, and why', 'w', (step) => -step[OTHERS].length, (step) => {
        const lines = [...step[OTHERS].map((other) => otherText(plan, other)), ...step[WHY].map((line) => plan.text(line))];
        if (!lines.length) return '';
        return html('details', {click: (event) => event.stopPropagation()}, html('summary', {}, step[OTHERS].length ? otherText(plan, step[OTHERS][0]) : 'why'), ...lines.map((line) => html('p', {}, line)));
      }]);
    }
    return section((plan.letter ? plan.letter + ': ' : '') + `Steps (${plan.steps.length})`, plan.steps.some((step) => step[OTHERS].length) ? html('p', {class: 'soft'}, 'Others: how long the same nodes would take elsewhere or by another kernel, without the changes of layout and the waits around them.') : null,
      ...sortedTable(columns, plan.steps, 0, (step) => !view.find || matches(plan, step), (s) => ({id: `step${plan.letter}${s}`, class: 'pick', click: () => choose({plan, s}, true)})));
  };

  // Of operators and groups.
  const worksTable = (works) => {
    const LABEL = 0, NODES = 1, ALONE = 2, COUNT = 3, WAYS = 4, WAY_NS = 5, SPREAD = 6;
    const text = (row, field) => row[WAYS].length ? works.strings[row[WAYS][0][field]] : '';
    const ns = (row) => row[WAYS].length ? row[WAYS][0][WAY_NS] : 0;
    const spread = (way) => way[WAY_NS] ? percent(way[SPREAD] / way[WAY_NS]) : '';
    const wayText = (way) => way.slice(0, WAY_NS).map((i) => works.strings[i]).filter(Boolean).join(', ') + ': ' + time(way[WAY_NS]) + ' ± ' + spread(way);
    const label = (row) => works.strings[row[LABEL]];
    const by = (name, field, cls) => [name, cls, (row) => text(row, field), (row) => text(row, field)];
    const columns = [
      ['work', 'w', label, label],
      ['nodes', 'n', (row) => -row[NODES], (row) => String(row[NODES])],
      ['fastest', 'n', (row) => -ns(row), (row) => row[WAYS].length ? time(ns(row)) : 'not measured'],
      ['±', 'n', (row) => ns(row) ? -row[WAYS][0][SPREAD] / ns(row) : 0, (row) => row[WAYS].length ? spread(row[WAYS][0]) : ''],
      ['share', 'n', (row) => -ns(row), (row) => works.total ? percent(ns(row) / works.total) : ''],
      ['nodes alone', 'n', (row) => -row[ALONE], (row) => row[NODES] > 1 && row[ALONE] ? time(row[ALONE]) : ''],
      by('on', 0, 's'), by('library', 1, ''), by('layout', 2, 's'), by('math', 3, 's'), by('note', 4, ''),
      ['other ways', 'w', (row) => -row[COUNT], (row) => row[WAYS].length < 2 ? '' : html('details', {}, html('summary', {}, wayText(row[WAYS][1])), ...row[WAYS].slice(2).map((way) => html('p', {}, wayText(way))), row[COUNT] > row[WAYS].length ? html('p', {class: 'soft'}, `and ${row[COUNT] - row[WAYS].length} slower ones`) : null)],
    ].filter(([name]) => name !== 'note' || works.rows.some((row) => text(row, 4)));
    const find = html('input', {type: 'search', placeholder: 'find', 'aria-label': 'find work by name, unit, library, layout or math', input: fillTables});
    const kind = html('select', {'aria-label': 'which work', change: fillTables}, ...['operators and groups', 'operators', 'groups'].map((name) => html('option', {}, name)));
    const keep = (row) => (kind.selectedIndex === 0 || (row[NODES] > 1) === (kind.selectedIndex === 2)) && [label(row), text(row, 0), text(row, 1), text(row, 2), text(row, 3)].join(' ').toLowerCase().includes(find.value.trim().toLowerCase());
    return section(`Operators and groups (${works.count})`, html('p', {class: 'soft'}, 'What each takes alone, warm, by its fastest way, with its 95 % interval. Shares are of all operators, each by its fastest way. The model takes less than their sum: groups are faster, and units work side by side.' + (works.count > works.rows.length ? ` The ${works.count - works.rows.length} lightest are left out.` : '')),
      html('div', {class: 'bar'}, find, kind), ...sortedTable(columns, works.rows, 2, keep, () => ({})));
  };

  const plainTable = (table) => {
    const number = (c) => table.numbers.includes(c) ? 'n' : '';
    return section(table.title, table.note ? html('p', {class: 'soft'}, table.note) : null, html('div', {class: 'scroll'}, html('table', {class: 'wide'},
      html('thead', {}, html('tr', {}, ...table.head.map((text, c) => html('th', {class: number(c) || null, scope: 'col'}, text)))),
      html('tbody', {}, ...table.rows.map((row) => html('tr', {}, ...row.map((text, c) => cell(text, number(c)))))))));
  };
  const meters = (title, note, rows) => section(title, note ? html('p', {class: 'soft'}, note) : null, html('table', {class: 'wide'}, html('tbody', {}, ...rows.map(([name, share, text, over]) =>
    html('tr', {}, cell(name), cell(text, 'n'), html('td', {style: 'width:55%'}, html('span', {class: 'meter' + (over ? ' over' : ''), style: `width:${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`})))))));

  const differences = (plan) => {
    const off = (s) => plan.steps[s][MNS] - plan.steps[s][NS];
    const worst = plan.steps.map((_, s) => s).filter((s) => plan.steps[s][MSTART] >= 0 && off(s) !== 0).sort((a, b) => Math.abs(off(b)) - Math.abs(off(a))).slice(0, 20);
    if (!worst.length) return null;
    const most = Math.abs(off(worst[0]));
    return meters('Predicted and measured: the steps that differ most', 'Orange: slower than predicted.', worst.map((s) =>
      [`${s}: ${short(labelOf(plan, plan.steps[s]), 60)}`, Math.abs(off(s)) / most, `${time(plan.steps[s][NS])} → ${time(plan.steps[s][MNS])} (${signed(off(s))})`, off(s) > 0]));
  };
  const moves = (plan) => {
    const rows = plan.steps.map((_, s) => s).filter((s) => plan.steps[s][KIND]);
    if (!rows.length) return null;
    return plainTable({title: `${plan.letter ? plan.letter + ': ' : ''}Copies and reorders (${rows.length})`, note: rows.length > FIRST_ROWS ? `The first ${FIRST_ROWS}.` : '', head: ['step', 'what', 'on', 'predicted', ...(plan.measured ? ['measured'] : [])], numbers: [3, 4],
      rows: rows.slice(0, FIRST_ROWS).map((s) => [String(s), labelOf(plan, plan.steps[s]), plan.units[plan.steps[s][UNIT]].name, time(plan.steps[s][NS]), ...(plan.measured ? [plan.steps[s][MSTART] < 0 ? '' : time(plan.steps[s][MNS])] : [])])});
  };

  // --- the page
  const themes = ['auto', 'light', 'dark'];
  let theme = 0;
  const setTheme = (name) => {
    if (name === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    drawNow();
  };
  const themeButton = html('button', {class: 'noprint', 'aria-label': 'light or dark', click: () => {
    theme = (theme + 1) % themes.length;
    themeButton.textContent = 'theme: ' + themes[theme];
    setTheme(themes[theme]);
  }}, 'theme: auto');
  main.append(html('div', {class: 'top'}, html('div', {}, html('h1', {}, page.heading), html('p', {class: 'soft'}, page.subtitle)), themeButton),
    html('div', {class: 'cards'}, ...page.cards.map(([label, value, note]) => html('div', {class: 'card'}, html('span', {class: 'soft'}, label), html('b', {}, value), html('span', {class: 'soft'}, note)))),
    ...page.notes.map((note) => html('p', {class: 'note'}, note)),
    ...(plans.length ? [section('Timeline', controls, picture, html('p', {class: 'soft noprint'}, 'Drag to move, Ctrl and wheel to zoom, click a step for more. Keys: + − 0, arrows, n and p from step to step.'), legend, detail)] : []),
    ...(page.works ? [worksTable(page.works)] : []),
    ...plans.filter((plan) => plan.measured).map(differences).filter(Boolean),
    ...page.tables.filter((table) => !table.late && table.head.length > 3).map(plainTable),
    html('div', {class: 'two'}, ...plans.map((plan) => meters((plan.letter ? plan.letter + ': ' : '') + 'How busy units are', 'A unit of several cores and those of its cores alone share their time.', plan.busy.map(([name, share]) => [name, share, percent(share)]))),
      ...page.tables.filter((table) => !table.late && table.head.length <= 3).map(plainTable)),
    ...plans.map(stepTable), ...plans.map(moves).filter(Boolean), ...page.tables.filter((table) => table.late).map(plainTable));
  fillTables();
  drawLegend();
  drawNow();
  new ResizeObserver(redraw).observe(picture);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', () => setTheme('light'));
  addEventListener('afterprint', () => setTheme(themes[theme]));
})();
