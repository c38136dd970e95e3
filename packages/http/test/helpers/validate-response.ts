import type { OpenApiDocument } from '@svc/http'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import { parseMessages } from './event-stream.ts'

/** What a server answered. */
export interface AnswerToCheck {
  method: string
  /** As it was asked for, prefix and query included. */
  path: string
  status: number
  contentType: string | null | undefined
  /** The text, as it came. */
  body: string
}

/** An operation of a document, as a request finds it. */
export interface FoundOperation {
  operationId: string
  responses: Record<string, unknown>
}

/** A way to look up operations and to check answers, both by what a document says. */
export interface ResponseValidator {
  find(method: string, path: string): FoundOperation | undefined
  /** What does not fit; nothing, when the answer is as described. A status that is not named is a `default`. */
  faultsOf(answer: AnswerToCheck): string[]
}

const known = new WeakMap<OpenApiDocument, ResponseValidator>()

/** The validator of a document; one for each. */
export function responseValidatorOf(document: OpenApiDocument): ResponseValidator {
  let validator = known.get(document)
  if (validator === undefined) known.set(document, (validator = createValidator(document)))
  return validator
}

type Content = Record<string, unknown>

function createValidator(document: OpenApiDocument): ResponseValidator {
  const ajv = new Ajv({ strict: false, allErrors: true })
  ;(formats as unknown as typeof formats.default)(ajv)
  ajv.addSchema({ $id: 'document', ...document })
  const compiled = new Map<string, ValidateFunction>()
  const templates = Object.keys(document.paths)
    .map((template) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`)
    }))
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length)

  const templateOf = (path: string) =>
    templates.find(({ pattern }) => pattern.test(path.split('?')[0] ?? ''))?.template

  // JSON pointer to the Response Object, and its content.
  function responseOf(template: string, method: string, status: string): [string, Content | undefined] {
    const response = document.paths[template]![method]!.responses[status]!
    if (response.$ref !== undefined) {
      const component =
        document.components.responses?.[response.$ref.slice(response.$ref.lastIndexOf('/') + 1)]
      return [response.$ref, component?.content as Content | undefined]
    }
    const pointer = ['paths', template, method, 'responses', status].map(escape).join('/')
    return [`#/${pointer}`, response.content as Content | undefined]
  }

  function check(pointer: string, value: unknown): string[] {
    let validate = compiled.get(pointer)
    if (validate === undefined)
      compiled.set(pointer, (validate = ajv.compile({ $ref: `document${pointer}` })))
    return validate(value) ? [] : [ajv.errorsText(validate.errors)]
  }

  return {
    find(method, path) {
      const template = templateOf(path)
      return template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()]
    },
    faultsOf({ method: given, path, status: answered, contentType, body }) {
      const method = given.toLowerCase()
      const template = templateOf(path)
      if (template === undefined || document.paths[template]?.[method] === undefined)
        return [`${given} ${path} is not described`]
      const { responses } = document.paths[template][method]
      const status = answered in responses ? String(answered) : 'default'
      if (status === 'default' && answered < 400) return [`${given} ${template} does not say ${answered}`]
      const [pointer, content] = responseOf(template, method, status)
      if (content === undefined) return body === '' ? [] : [`${status} has a body`]
      // Bytes of any type.
      if ('*/*' in content) return contentType ? [] : [`${status} of ${given} ${template} has no type`]
      const type = contentType?.split(';')[0] ?? ''
      if (content[type] === undefined) return [`${status} of ${given} ${template} is "${type}"`]
      const schema = `${pointer}/content/${escape(type)}/schema`
      if (type === 'text/event-stream') return parseMessages(body).flatMap(({ part }) => check(schema, part))
      return check(schema, JSON.parse(body))
    }
  }
}

function escape(token: string): string {
  return encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'))
}
