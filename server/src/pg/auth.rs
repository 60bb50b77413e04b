//! SCRAM-SHA-256: proves that a client knows the password without sending it.
//!
//! Only a verifier of the password is kept. Each connection has an exchange of its own, so concurrent log-ins cannot
//! mix. The cryptography is pgwire's.

use bytes::Bytes;
use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal, gen_salted_password,
};

use super::message::sasl_initial_response;
use crate::error::{Result, SessionError};

pub const MECHANISM: &str = "SCRAM-SHA-256";

const SALT_BYTES: usize = 16;

/// What is kept of a password.
#[derive(Clone)]
pub struct Verifier {
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Verifier {
    pub fn new(password: &str) -> Self {
        let salt: [u8; SALT_BYTES] = rand::random();
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        let secret = ScramSecret::verifier_from_salted_password(salt.to_vec(), salted, SCRAM_ITERATIONS);
        match secret {
            ScramSecret::Verifier {
                salt,
                stored_key,
                server_key,
                ..
            } => Self {
                salt,
                stored_key,
                server_key,
            },
            ScramSecret::SaltedPassword { .. } => unreachable!("the constructor's name says what it makes"),
        }
    }
}

/// One log-in, waiting for the client's first or second message.
pub enum Exchange<'a> {
    Begun(&'a Verifier),
    Challenged(Box<ScramServerAuthWaitingForClientFinal>),
}

/// What to send next.
pub enum Step<'a> {
    Continue(Bytes, Exchange<'a>),
    Done(Bytes),
}

impl<'a> Exchange<'a> {
    pub fn new(verifier: &'a Verifier) -> Self {
        Exchange::Begun(verifier)
    }

    /// Takes the body of the client's message.
    ///
    /// # Errors
    /// [`SessionError::WrongPassword`] for anything that is not a valid proof; it never tells which part was wrong.
    pub fn next(self, user: &str, body: Bytes) -> Result<Step<'a>> {
        let refused = || SessionError::WrongPassword(user.to_owned());
        match self {
            Exchange::Begun(verifier) => {
                let (mechanism, data) = sasl_initial_response(body)?;
                if mechanism != MECHANISM {
                    let message =
                        format!("client selected an invalid SASL authentication mechanism \"{mechanism}\"");
                    return Err(SessionError::Protocol(message).into());
                }
                let secret = ScramSecret::Verifier {
                    salt: verifier.salt.clone(),
                    iterations: SCRAM_ITERATIONS,
                    stored_key: verifier.stored_key.clone(),
                    server_key: verifier.server_key.clone(),
                };
                let (challenge, waiting) = ScramServerAuth::new()
                    .on_client_first_message_with_secret(&data, secret)
                    .map_err(|_| refused())?;
                Ok(Step::Continue(
                    challenge.into(),
                    Exchange::Challenged(Box::new(waiting)),
                ))
            }
            Exchange::Challenged(waiting) => {
                let proof = waiting.on_client_final_message(&body).map_err(|_| refused())?;
                Ok(Step::Done(proof.into()))
            }
        }
    }
}
