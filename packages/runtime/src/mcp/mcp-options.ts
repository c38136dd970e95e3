import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_TOOL, RUN_ERR_MCP } from '../errors.ts'
import { prefixedError } from '../checks/option-errors.ts'
import { ToolOptionsSchema } from '../tools/define-tool.ts'

const strict = { additionalProperties: false }
const functionSchema = Type.Function([], Type.Unknown())
const texts = Type.Record(Type.String(), Type.String())
const approval = Type.Union([Type.Boolean(), functionSchema])
const { approvalTimeout, timeout, maxOutputBytes } = ToolOptionsSchema.properties

const ToolsSchema = Type.Object(
  {
    prefix: Type.Optional(Type.String()),
    include: Type.Optional(Type.Union([Type.Array(Type.String()), functionSchema])),
    approval: Type.Optional(Type.Union([approval, Type.Record(Type.String(), approval)])),
    approvalTimeout,
    timeout,
    maxOutputBytes
  },
  strict
)
const ProgramSchema = Type.Object(
  {
    command: Type.String({ minLength: 1 }),
    args: Type.Optional(Type.Array(Type.String())),
    env: Type.Optional(texts),
    cwd: Type.Optional(Type.String())
  },
  strict
)
const RemoteSchema = Type.Object({ url: Type.Any(), headers: Type.Optional(texts) }, strict)

/** Checks the options of `mcpTools`. @throws RUN_ERR_BAD_TOOL */
export function requireToolsOptions(options: unknown): void {
  requireOptions(ToolsSchema, options, prefixedError('mcpTools', RUN_ERR_BAD_TOOL))
}

/** Checks the location of a server. @throws RUN_ERR_MCP */
export function requireServer(server: unknown): void {
  const { command, url } = (server ?? {}) as { command?: unknown; url?: unknown }
  const Fault = prefixedError('connectMcp', RUN_ERR_MCP)
  if (command === undefined && url === undefined) throw new Fault('neither a command nor a url')
  requireOptions(command === undefined ? RemoteSchema : ProgramSchema, server, Fault)
  if (command === undefined && !URL.canParse(String(url))) throw new Fault('url: not a URL')
}
