import { Lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { cleanText } from './clean-text.ts'
import { decodeEntities } from './entities.ts'
import { Icon, WebLink } from './elements.tsx'
import './markdown.css'

/** Characters of a block that are read as Markdown; longer ones are shown as they are. */
const MAX_BLOCK = 20_000
/** Levels of quotes, lists and emphasis. */
const MAX_DEPTH = 24

/**
 * Markdown of an untrusted writer. There is no HTML in between: tokens become elements of the page, tags in the text are text, links lead
 * nowhere but to the web, and images are links. While a text grows only its last blocks are read again.
 */
export function Markdown({ text }: { text: string }) {
  const reader = useRef<MarkdownReader>(null)
  const blocks = useMemo(() => (reader.current ??= new MarkdownReader()).read(text), [text])
  return <div class="markdown">{blocks}</div>
}

interface Block {
  readonly token: Token
  readonly node: VNode
}

class MarkdownReader {
  #text = ''
  #blocks: Block[] = []

  read(text: string): VNode[] {
    const clean = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
    let kept: Block[] = []
    let from = 0
    if (clean.startsWith(this.#text)) {
      // The last block may grow, and with it change what the one before it is.
      kept = this.#blocks.slice(0, -2)
      for (const { token } of kept) from += token.raw.length
    }
    const tail = clean.slice(from)
    const tokens = tail.length > MAX_BLOCK ? readLong(tail) : lex(tail)
    const isWhole = tokens.reduce((length, { raw }) => length + raw.length, 0) === tail.length
    const added = tokens.map((token, at) => ({
      token,
      node: <div key={kept.length + at}>{toBlock(token, 0)}</div>
    }))
    this.#text = isWhole ? clean : ''
    this.#blocks = isWhole ? [...kept, ...added] : []
    return [...kept, ...added].map(({ node }) => node)
  }
}

function lex(text: string): Token[] {
  try {
    return new Lexer({ gfm: true }).lex(text)
  } catch {
    return [plain(text)]
  }
}

// Cut at empty lines, so that no single call of the lexer takes long.
function readLong(text: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length;) {
    const limit = text.indexOf('\n\n', at + MAX_BLOCK / 2)
    const end = limit === -1 ? text.length : limit + 2
    const piece = text.slice(at, end)
    tokens.push(...(piece.length > MAX_BLOCK ? [plain(piece)] : lex(piece)))
    at = end
  }
  return tokens
}

const plain = (text: string): Token => ({ type: 'plain', raw: text, text })

function toBlock(token: Token, depth: number): ComponentChildren {
  if (depth > MAX_DEPTH) return cleanText(token.raw)
  const each = token as Tokens.Generic
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // One level below the headings of the page, whichever the writer has begun with.
      return <h3 data-depth={(each as Tokens.Heading).depth}>{toInline(each.tokens, depth)}</h3>
    case 'paragraph':
      return <p>{toInline(each.tokens, depth)}</p>
    case 'text':
      return each.tokens === undefined ? readText(each['text']) : toInline(each.tokens, depth)
    case 'code':
      return <CodeBlock {...(each as Tokens.Code)} />
    case 'blockquote':
      return <blockquote>{each.tokens?.map((inner) => toBlock(inner, depth + 1))}</blockquote>
    case 'hr':
      return <hr />
    case 'list':
      return toList(each as Tokens.List, depth)
    case 'table':
      return toTable(each as Tokens.Table, depth)
    case 'plain':
      return <pre class="plain">{cleanText(token.raw)}</pre>
    default:
      return <p>{cleanText(token.raw)}</p>
  }
}

function CodeBlock({ text, lang }: Pick<Tokens.Code, 'text'> & { lang?: string | undefined }) {
  return (
    <pre tabIndex={0} role="group" aria-label={lang ? `Code in ${cleanText(lang.slice(0, 40))}` : 'Code'}>
      <code>{cleanText(text)}</code>
    </pre>
  )
}

function toList({ ordered, start, items }: Tokens.List, depth: number): VNode {
  const children = items.map(({ task, checked, tokens }) => (
    <li class={task ? 'task' : undefined}>
      {task && (
        <input type="checkbox" checked={checked ?? false} disabled aria-label={checked ? 'done' : 'to do'} />
      )}
      {tokens.filter(({ type }) => type !== 'checkbox').map((inner) => toBlock(inner, depth + 1))}
    </li>
  ))
  return ordered ? <ol start={start === '' ? 1 : start}>{children}</ol> : <ul>{children}</ul>
}

function toTable({ header, rows, align }: Tokens.Table, depth: number): VNode {
  const alignOf = (at: number) => (align[at] ? { textAlign: align[at] } : undefined)
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              <th scope="col" style={alignOf(at)}>
                {toInline(tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map(({ tokens }, at) => (
                <td style={alignOf(at)}>{toInline(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function toInline(tokens: Token[] | undefined, depth: number): ComponentChildren {
  if (depth > MAX_DEPTH) return cleanText(tokens?.map(({ raw }) => raw).join('') ?? '')
  return tokens?.map((token) => toSpan(token as Tokens.Generic, depth + 1))
}

function toSpan(token: Tokens.Generic, depth: number): ComponentChildren {
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? readText(token['text']) : toInline(token.tokens, depth)
    case 'escape':
      return cleanText(token['text'])
    case 'strong':
      return <strong>{toInline(token.tokens, depth)}</strong>
    case 'em':
      return <em>{toInline(token.tokens, depth)}</em>
    case 'del':
      return <del>{toInline(token.tokens, depth)}</del>
    case 'codespan':
      return <code>{cleanText(token['text'])}</code>
    case 'br':
      return <br />
    case 'link':
      return <WebLink href={token['href']}>{toInline(token.tokens, depth)}</WebLink>
    case 'image':
      return (
        <WebLink href={token['href']}>
          <Icon name="file" /> {cleanText(token['text'] || 'image')}
        </WebLink>
      )
    default:
      return cleanText(token.raw)
  }
}

const readText = (text: string) => cleanText(decodeEntities(text))
