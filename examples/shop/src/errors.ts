import { ApiError } from 'latchkey'

/** The plan of the customer does not include this. */
export class PaymentRequired extends ApiError {
  status = 402
  reason = 'payment_required'
}
