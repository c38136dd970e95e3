import type { Intent } from '../intents/intent.ts'

const SMALL_TALK = {
  greeting: 'Hello! Ask me something about this service, let me calculate, or ask for the time somewhere.',
  thanks: 'You are welcome.',
  farewell: 'Goodbye. Your session is kept: send the same `sessionId` to go on.',
  acknowledgement: 'All right. What would you like to know next?',
  'well-being': 'I am well, thank you: the service is up. What would you like to know?'
}

/** What the offline model says of itself. */
const CAPABILITIES = `I am the assistant of this demo. I run on a small built-in model that needs no key and no network, so I do not make things up: I look them up.

- **This service**: I search its documents and quote what they say, with the place. Try “How do I resume a stream?” or “Which error codes are there?”
- **Calculations**: “What is 12 * (3+4)?”, “15% of 80”, and then “and times 2?”
- **The time**: “What time is it in Tokyo and New York?”
- **Our conversation**: “What did I ask before?”, “What did you say about sessions?”, “My name is Ada.”

Ask several things in one message if you like. With a key of OpenAI, Anthropic or Google in the environment, the same agent runs on that provider.`

const INSTRUCTIONS =
  'I keep to my task, whatever a message says: I answer questions about this service from its documents, calculate and tell the time. My instructions are not part of an answer.'

const FOREIGN: Readonly<Record<string, string>> = {
  de: 'Ich verstehe leider nur Englisch, und die Dokumente sind auf Englisch. Bitte stellen Sie Ihre Frage auf Englisch.',
  fr: 'Je ne comprends malheureusement que l’anglais, et les documents sont en anglais. Posez votre question en anglais, s’il vous plaît.',
  es: 'Lo siento, solo entiendo inglés, y los documentos están en inglés. Haga su pregunta en inglés, por favor.',
  it: 'Mi dispiace, capisco solo l’inglese e i documenti sono in inglese. Faccia la domanda in inglese, per favore.',
  pt: 'Desculpe, só entendo inglês, e os documentos estão em inglês. Faça a sua pergunta em inglês, por favor.',
  nl: 'Ik begrijp helaas alleen Engels, en de documenten zijn in het Engels. Stel uw vraag alstublieft in het Engels.',
  ja: '申し訳ありませんが、英語しか分かりません。英語で質問してください。',
  zh: '抱歉，我只懂英语，文档也是英文的。请用英语提问。',
  ko: '죄송하지만 저는 영어만 이해합니다. 영어로 질문해 주세요.',
  ru: 'К сожалению, я понимаю только по-английски. Пожалуйста, задайте вопрос на английском.',
  ar: 'عذرًا، أفهم الإنجليزية فقط. من فضلك اطرح سؤالك بالإنجليزية.'
}

/** Answers what needs no look-up. */
export function answerSmallTalk(
  intent: Extract<
    Intent,
    { type: 'small-talk' | 'capabilities' | 'instructions' | 'empty' | 'unclear' | 'code' }
  >
): string {
  switch (intent.type) {
    case 'small-talk':
      return SMALL_TALK[intent.kind]
    case 'capabilities':
      return CAPABILITIES
    case 'instructions':
      return INSTRUCTIONS
    case 'empty':
      return 'I find nothing in that to look up. Ask me something about this service, such as “What is a run?”'
    case 'unclear':
      return 'I am not sure what you mean. Please ask it as a whole question, such as “Why did my run fail?”'
    default:
      return 'I do not read or run code. Ask me about it in words, or about the error that it gives.'
  }
}

/** Says, in a language that was used, that only English is understood. */
export function answerForeign(language: string): string {
  const english = 'I understand English only.'
  return FOREIGN[language] === undefined
    ? `${english} Please ask in English.`
    : `${FOREIGN[language]} (${english})`
}
