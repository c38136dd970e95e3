/**
 * Evaluated in every fresh QuickJS before the program: defines `input`, `tools` and `console` for the program, and returns
 * functions that start it and answer its calls. Not a security boundary: a program that tampers with it can emit only texts.
 */
export const PRELUDE = String.raw`(emit, input, names, maxConsole, maxMessage) => {
  const { stringify, parse } = JSON
  const { PromiseCtor, ErrorCtor, Str } = { PromiseCtor: Promise, ErrorCtor: Error, Str: String }
  const waiting = { __proto__: null }
  let nextId = 1
  let consoleLeft = maxConsole
  // As JSON: a plain string would be cut at its first NUL.
  const send = (what, text, thrown) => emit(what, stringify(text), thrown === null ? 'null' : undefined)

  const show = (value) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'bigint') return Str(value)
    try {
      if (value instanceof ErrorCtor) return Str(value.name) + ': ' + Str(value.message)
      const json = stringify(value)
      return json === undefined ? Str(value) : json
    } catch {
      return typeof value
    }
  }
  const log = (...values) => {
    if (consoleLeft <= 0) return
    let line = ''
    for (let index = 0; index < values.length && line.length < consoleLeft; index++)
      line += (index > 0 ? ' ' : '') + show(values[index])
    line = (line + '\n').slice(0, consoleLeft)
    consoleLeft -= line.length
    send('console', line)
  }
  globalThis.console = { log, info: log, warn: log, error: log, debug: log }
  globalThis.input = parse(input)
  globalThis.tools = { __proto__: null }

  for (const name of parse(names)) {
    tools[name] = (args = {}) =>
      new PromiseCtor((resolve, reject) => {
        const json = stringify(args)
        if (json === undefined) throw new TypeError('The arguments of ' + name + ' are not JSON')
        const id = nextId++
        waiting[id] = { resolve, reject }
        const refusal = emit('call', json, name, id)
        if (refusal !== undefined) throw new ErrorCtor(refusal)
      })
  }
  Object.freeze(tools)

  const describe = (thrown) => {
    try {
      if (!(thrown instanceof ErrorCtor)) return show(thrown).slice(0, maxMessage)
      const stack = typeof thrown.stack === 'string' ? '\n' + thrown.stack.trimEnd() : ''
      return (Str(thrown.name) + ': ' + Str(thrown.message) + stack).slice(0, maxMessage)
    } catch {
      return 'The program failed'
    }
  }
  return {
    run: (program) => {
      program().then(
        (value) => {
          let json
          try {
            json = value === undefined ? 'null' : stringify(value)
          } catch (err) {
            return send('no-json', describe(err), err)
          }
          if (json === undefined) send('no-json', 'it is a ' + typeof value)
          else emit('result', json)
        },
        (thrown) => send('failed', describe(thrown), thrown)
      )
    },
    answer: (id, ok, json) => {
      const { resolve, reject } = waiting[id]
      delete waiting[id]
      const value = parse(json)
      if (ok) return resolve(value)
      const error = new ErrorCtor(value.message)
      error.code = value.code
      reject(error)
    }
  }
}`
