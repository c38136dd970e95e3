import type { Probes } from './probe.ts'

// What a program does with any object of the host: writes a file, connects, starts a process, kills the
// parent, reads the environment.
const HARM = String.raw`
const harm = (host) => {
  const proc = host?.process ?? host
  const load = (name) => host?.require?.(name) ?? proc?.mainModule?.require?.(name) ?? proc?.getBuiltinModule?.(name)
  try { load('fs').writeFileSync(FILE, 'x') } catch {}
  try { load('net').connect(PORT, '127.0.0.1') } catch {}
  try { load('child_process').execSync('touch ' + FILE) } catch {}
  try { proc.kill(proc.ppid, 'SIGKILL') } catch {}
  try { return proc.env } catch { return typeof proc }
}
`
const reach = (expression: string) => `${HARM}\nreturn harm(${expression})`
const attempt = (code: string) => `${HARM}\ntry { ${code} } catch (e) { return String(e) }`

/** Ways to reach an object of the host. */
export const REACH_PROBES: Probes = {
  'require of fs': attempt("return require('fs').writeFileSync(FILE, 'x')"),
  'import of node:fs': attempt("return (await import('node:fs')).writeFileSync(FILE, 'x')"),
  'import of a file': attempt("return (await import('file:///etc/passwd')).default"),
  'import of a data URL': attempt("return await import('data:text/javascript,export default 1')"),
  'import statement': "import fs from 'node:fs'\nfs.writeFileSync(FILE, 'x')",
  'import.meta': 'return import.meta.url',
  'std and os of QuickJS': attempt("const s = await import('std'); s.open(FILE, 'w').puts('x')"),
  'os.exec of QuickJS': attempt("const o = await import('os'); o.exec(['touch', FILE])"),
  'globals of shells': reach('typeof std === "object" ? std : typeof os === "object" ? os : typeof load'),
  'process.binding': attempt("return process.binding('fs')"),
  'process by name': reach('typeof process === "undefined" ? undefined : process'),
  environment: attempt('return JSON.stringify(process.env)'),
  'std.getenv': attempt("return std.getenv('SANDBOX_SECRET')"),
  fetch: attempt('return await fetch("http://127.0.0.1:" + PORT)'),
  XMLHttpRequest: attempt('new XMLHttpRequest().open("GET", "http://127.0.0.1:" + PORT)'),
  WebSocket: attempt('new WebSocket("ws://127.0.0.1:" + PORT)'),
  'import of node:net': attempt("(await import('node:net')).connect(PORT)"),
  'import of a URL': attempt('return await import("http://127.0.0.1:" + PORT + "/x.js")'),
  Worker: attempt("return typeof new Worker('data:text/javascript,1')"),
  child_process: attempt("require('child_process').execSync('touch ' + FILE)"),
  'kill of the parent': attempt("process.kill(process.ppid, 'SIGKILL')"),
  'constructor of an object': reach("({}).constructor.constructor('return this')()"),
  Function: reach('Function(\'return typeof process === "object" ? process : this\')()'),
  'constructor of an async function': reach("await (async () => {}).constructor('return this')()"),
  'constructor of a generator': reach("(function* () {}).constructor('yield this')().next().value"),
  'constructor of an async generator': reach(
    "(await (async function* () {}).constructor('yield this')().next()).value"
  ),
  'constructor of console.log': reach("console.log.constructor('return this')()"),
  'constructor of a host tool': reach("tools.echo.constructor('return this')()"),
  'constructor of a host result': reach(
    "(await tools.echo({ a: 1 })).args.constructor.constructor('return this')()"
  ),
  'constructor of a host promise': reach("tools.echo({}).constructor.constructor('return this')()"),
  'constructor of a host error': reach(
    "await tools.fail({}).catch((e) => e.constructor.constructor('return this')())"
  ),
  'stack of a host error': attempt(
    'await tools.fail({})'.replace('await', 'return await') + '.catch((e) => e.stack)'
  ),
  prepareStackTrace: reach(
    '(() => { Error.prepareStackTrace = (_e, s) => s; return new Error().stack?.[0]?.getThis?.() })()'
  ),
  'caller of a function': reach('(function f() { return f.caller ?? f.arguments })()'),
  'arguments.callee': reach('(function () { return arguments.callee.caller })()'),
  'this of a sloppy function': reach('(function () { return this })()'),
  'indirect eval': reach("(0, eval)('this')"),
  'end of the wrapping function': '}); globalThis.process?.exit(); (async () => {',
  'input of the wrapping function': reach('arguments.length ? arguments[0] : undefined'),
  'names of the inner bridge': reach('typeof emit === "function" ? emit : globalThis.answer'),
  'with and a Proxy of everything': attempt(
    'return new Function("o", "with (o) { return process }")(new Proxy({}, { has: () => true, get: (_t, k) => k === Symbol.unscopables ? undefined : globalThis[k] }))'
  ),
  'symbols of Node': reach("globalThis[Symbol.for('nodejs.util.inspect.custom')]"),
  ShadowRealm: attempt("return new ShadowRealm().evaluate('typeof process')"),
  'iframe of a browser': attempt("return document.createElement('iframe')"),
  WebAssembly: attempt('return typeof WebAssembly.Memory'),
  'SharedArrayBuffer and Atomics': attempt(
    'return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
  )
}
