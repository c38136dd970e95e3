/** The codes of `error` events that the protocol has for faults of one client event; the connection stays open. */
export const PROTOCOL_CODES = {
  invalid_json: 'The message is not UTF-8 JSON, is nested too deep, or has forbidden keys',
  missing_required_parameter: 'A required parameter is absent',
  unknown_parameter: 'A parameter is not known',
  invalid_type: 'A parameter is of another type',
  invalid_value: 'A parameter has a value that is not possible',
  unsupported_value: 'A parameter has a value of the protocol that this service does not support',
  unsupported_content_type: 'An item has content that this service does not take there',
  input_audio_buffer_commit_empty: 'A commit of less than 100 ms of audio',
  conversation_already_has_active_response: 'A `response.create` while a response is in progress',
  response_cancel_not_active: 'A `response.cancel` while no such response is in progress',
  item_retrieve_invalid_item_id: 'A `conversation.item.retrieve` of an unknown item',
  item_truncate_invalid_item_id: 'A `conversation.item.truncate` of an unknown item',
  item_delete_invalid_item_id: 'A `conversation.item.delete` of an unknown item',
  invalid_tool_call_id: 'The output of a function call that is unknown or was answered before'
} as const
export type ProtocolCode = keyof typeof PROTOCOL_CODES

/** A fault of one client event, as the protocol reports it: `invalid_request_error`. */
export class ProtocolError extends Error {
  readonly code: ProtocolCode
  /** The parameter at fault, such as `session.audio.input.format.rate`. */
  readonly param: string | undefined

  constructor(code: ProtocolCode, message: string, param?: string) {
    super(message)
    this.code = code
    this.param = param
  }
}
