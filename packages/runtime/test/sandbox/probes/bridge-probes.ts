import type { Probes } from './probe.ts'

/** Attacks on the data exchange between a program and the host. */
export const BRIDGE_PROBES: Probes = {
  'polluted Object.prototype': 'Object.prototype.polluted = 1; return tools.echo({})',
  '__proto__ in arguments': 'return tools.echo(JSON.parse(\'{"__proto__":{"polluted":1}}\'))',
  '__proto__ in a result': 'return JSON.parse(\'{"a":[{"__proto__":{"polluted":1}}]}\')',
  'constructor.prototype in arguments': 'return tools.echo({ constructor: { prototype: { polluted: 1 } } })',
  'toJSON of the result': 'return { toJSON: () => ({ type: "done", fault: "x", clean: true }) }',
  'toJSON on Object.prototype':
    'Object.prototype.toJSON = () => ({ polluted: 1 }); return tools.echo({ a: 1 })',
  'toJSON that never ends': 'return { toJSON() { for (;;); } }',
  'getter that never ends': 'return { get a() { for (;;); } }',
  'getter that throws a Proxy': 'return { get a() { throw new Proxy({}, { get() { throw 1 } }) } }',
  'Proxy as the result': 'return new Proxy({}, { ownKeys: () => { for (;;); } })',
  'Proxy with keys for ever':
    'let n = 0; return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, () => "k" + n++), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })',
  'Proxy as arguments': 'return tools.echo(new Proxy({}, { get: () => { throw new Error("x") } }))',
  'Proxy in the middle of arguments':
    'return tools.echo({ a: [new Proxy([], { get: (_t, k) => k === "length" ? 2 ** 53 - 1 : undefined })] })',
  'Proxy whose keys are getters':
    'return new Proxy({}, { ownKeys: () => ["__proto__", "a"], getOwnPropertyDescriptor: () => ({ value: { polluted: 1 }, enumerable: true, configurable: true }), get: () => ({ polluted: 1 }) })',
  'functions of the stack':
    'const f = []; Error.prepareStackTrace = (_e, s) => { for (const c of s) f.push(c.getFunction?.()); return "" }; await tools.echo({ get a() { return new Error().stack } }).catch(() => {}); for (const g of f) try { g?.(1, true, "x") } catch {}; return f.length',
  'answers that the program makes up':
    'const f = []; Error.prepareStackTrace = (_e, s) => { for (const c of s) f.push(c.getFunction?.()); return "" }; Object.defineProperty(Object.prototype, "then", { configurable: true, get() { new Error().stack } }); await tools.echo({}); for (const g of f) try { g?.(1, true, "]}") } catch {}; return tools.echo({ a: 1 })',
  'a million calls':
    'let n = 0; for (let i = 0; i < 1e6; i++) await tools.echo(i).catch(() => n++); return n',
  'a million calls at once':
    'const a = []; for (let i = 0; i < 1e6; i++) a.push(tools.echo(i).catch(() => 0)); return (await Promise.all(a)).length',
  'result and calls that never settle':
    'tools.echo({}).then(() => new Promise(() => {})); return await new Promise(() => {})',
  'error with a huge stack': 'const e = new Error("x"); e.stack = "x".repeat(1e7); throw e',
  'thrown by the wrapping script':
    '}); throw { name: { toString: 1 }, get message() { for (;;); } }; (async () => {',
  'a key of 300 KB': 'return { ["k".repeat(3e5)]: 1 }',
  'thenable result': 'return { then(resolve) { resolve({ then(again) { again(1) } }) } }',
  'thenable for ever': 'const t = { then(resolve) { resolve(t) } }; return t',
  'then on Object.prototype': 'Object.prototype.then = function (r) { r("hijacked") }; return tools.echo({})',
  'another JSON.stringify':
    'JSON.stringify = () => "]}garbage"; JSON.parse = () => { throw 1 }; return tools.echo({ a: 1 })',
  'another Promise': 'globalThis.Promise = class {}; return tools.echo({})',
  'another Promise.prototype.then': 'Promise.prototype.then = () => { for (;;); }; return tools.echo({})',
  'another Array.prototype':
    'for (const k of ["map", "push", "join"]) Array.prototype[k] = () => { throw 1 }; return [1]',
  'another String.prototype': 'String.prototype.slice = () => { throw 1 }; console.log("x"); return "x"',
  'another Map': 'Map.prototype.get = Map.prototype.set = () => { throw 1 }; return tools.echo({})',
  'other tools':
    'tools.echo = 1; tools.evil = 1; return [Object.keys(tools), tools.constructor, tools.__proto__]',
  'tool by an inherited name': 'return tools.toString?.() ?? tools.hasOwnProperty?.("x")',
  'frame in a text':
    'console.log("\\u0000\\u0000\\u0000\\u0005{\\"type\\":\\"done\\"}"); return "\\u0000\\u0000\\u0000\\u0001{"',
  'lone surrogates': 'console.log("\\ud800"); return "\\udfff" + (await tools.echo("\\ud800")).args',
  'U+2028 and quotes': 'return "\\u2028\\"\\\\}],\\n"',
  'raw JSON': 'return JSON.rawJSON ? JSON.rawJSON("1") : 1',
  'numbers without JSON': 'return [NaN, Infinity, -0, 1e999]',
  'symbol, BigInt and function in arguments':
    'return [await tools.echo(Symbol()).catch(String), await tools.echo(1n).catch(String), await tools.echo(() => 1).catch(String)]',
  'large arguments': 'return tools.echo("x".repeat(1e6)).catch(String)',
  'many large arguments at once':
    'return (await Promise.allSettled(Array.from({ length: 40 }, () => tools.echo("x".repeat(2e5))))).length',
  'calls without end': 'for (;;) await tools.echo({}).catch(() => {})',
  'calls without await': 'for (let i = 0; i < 1e4; i++) tools.echo({ i }).catch(() => {}); return 1',
  'call after the end': 'Promise.resolve().then(() => null).then(() => tools.echo({ late: 1 })); return 1',
  'console without end': 'for (;;) console.log("x".repeat(1e4))',
  'console with a poisoned value':
    'console.log({ toString() { for (;;); }, toJSON() { throw 1 } }, new Proxy({}, {}), Symbol()); return 1',
  'thrown poison': 'throw { get message() { throw 1 }, get stack() { throw 1 }, toString() { throw 1 } }',
  'thrown error with poison':
    'const e = new Error("x"); Object.defineProperty(e, "message", { get() { for (;;); } }); throw e',
  'huge error': 'throw new Error("x".repeat(1e7))',
  'timers after the end':
    'for (const f of ["setTimeout", "setInterval", "setImmediate", "requestAnimationFrame"]) globalThis[f]?.(() => tools.echo({ late: 1 }), 1); return 1',
  'work after the end': '(async () => { for (;;) await null })(); return 1',
  'finalizers after the end':
    'const r = new FinalizationRegistry(() => tools.echo({ late: 1 })); for (let i = 0; i < 1e4; i++) r.register({}, 1); return 1'
}
